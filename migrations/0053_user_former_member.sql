-- A change of roles left people who lost the role of an issuer with that issuer: its members still saw their keys and counted them. The version
-- moves, so that nobody who read the row before writes the issuer back.
update users set issuer_id = null, version = version + 1 where issuer_id is not null and roles not like '%issuer%';
