-- An invitation used to be told of by the address of whoever was invited. Events and approvals know people by their ids.
update events set subject_type = 'user', subject_id = coalesce((select u.id from users u where u.email = events.subject_id), 'usr_unknown'),
    data = '{}' where subject_id like '%@%';
update events set data = '{}' where type like 'approval.%' and cast(data as text) like '%"invitation"%';
update approvals set subject_type = 'user', subject_id = coalesce((select u.id from users u where u.email = approvals.subject_id), 'usr_unknown')
    where subject_id like '%@%';
