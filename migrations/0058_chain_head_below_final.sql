-- The first contact with a chain could store a final block that is not below the head: two nodes behind one address gave the two answers. Such
-- a chain was never followed. Following starts at the final block: no transaction of the platform can be below it.
update chains set head_number = final_number, head_hash = final_hash, version = version + 1
    where head_number < final_number or (head_number = final_number and head_hash <> final_hash);
