-- The picture beside an offering in a list. It lies where the issuer keeps it.
alter table offerings add column cover_image_url text;
