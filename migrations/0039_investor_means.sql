-- When the investor last declared a higher income or net worth than before. Null if never.
alter table investors add column means_raised_at timestamptz;
