-- Attachments: the bytes lie in object storage, here is what is known of them.

-- Whether storage holds an object at that path, of that owner; null asks for any owner's. A project without object
-- storage has none. Older storage keeps its owner as a uuid, newer as text.
create or replace function kizunasync.attachment_object_exists(bucket text, path text, wanted_owner text)
returns boolean
language plpgsql stable set search_path = '' as $$
declare
  objects oid := to_regclass('storage.objects');
  owner_matches text;
  answer boolean;
begin
  if objects is null then
    return false;
  end if;
  select string_agg(format('o.%I::text = $3', a.attname), ' or ') into owner_matches
  from pg_catalog.pg_attribute a
  where a.attrelid = objects and a.attname in ('owner', 'owner_id') and not a.attisdropped;
  execute format(
    'select exists (select from storage.objects o where o.bucket_id = $1 and o.name = $2 and ($3 is null or %s))',
    coalesce(owner_matches, 'false'))
  into answer using bucket, path, wanted_owner;
  return answer;
end $$;

-- Whether a path reads owner/row/file, the owner being a uuid.
create or replace function kizunasync.attachment_path_is_sound(path text) returns boolean
language sql immutable set search_path = '' as $$
  select coalesce(
    path ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}/[^/]+/[^/]+$'
    and split_part(path, '/', 2) not in ('.', '..') and split_part(path, '/', 3) not in ('.', '..'), false)
$$;

create or replace function kizunasync.attachment_confirm(
  p_bucket text, p_path text, p_sha256 text, p_size bigint, p_media_type text, p_table text default null
) returns void
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' as $$
declare
  caller text := kizunasync.caller_id();
  kept kizunasync.attachments;
begin
  if coalesce(p_bucket, '') = '' or not kizunasync.attachment_path_is_sound(p_path) then
    raise exception 'no attachment can lie at this path'
      using errcode = '22023', hint = 'Name a bucket, and a path of the form owner/row/file with the owner''s uuid.';
  end if;
  if p_sha256 is null or p_sha256 !~* '^[0-9a-f]{64}$' then
    raise exception 'the hash is not 64 hexadecimal digits'
      using errcode = '22023', hint = 'Send the SHA-256 of the bytes.';
  end if;
  if p_size is null or p_size < 0 then
    raise exception 'the size is missing or negative' using errcode = '22023', hint = 'Send the number of bytes.';
  end if;
  if p_table is not null and not exists (select from kizunasync.registered_tables r where r.table_name = p_table) then
    raise exception 'table % is not registered', p_table
      using errcode = '22023', hint = 'Name the registered table whose row has the attachment.';
  end if;
  if caller is null or lower(split_part(p_path, '/', 1)) <> lower(caller) then
    raise exception 'the path belongs to another user'
      using errcode = '42501', hint = 'The first part of the path is the id of the user who is signed in.';
  end if;
  if not kizunasync.attachment_object_exists(p_bucket, p_path, caller) then
    raise exception 'storage has no such object of this user'
      using errcode = '42501', hint = 'Upload the bytes first, then confirm them.';
  end if;
  insert into kizunasync.attachments (bucket_id, object_path, owner_id, table_name, sha256, size, media_type)
  values (p_bucket, p_path, caller, p_table, lower(p_sha256), p_size, p_media_type)
  on conflict do nothing;
  if found then
    return;
  end if;
  select a.* into kept from kizunasync.attachments a
  where a.bucket_id = p_bucket and a.object_path = p_path for update;
  if kept.owner_id <> caller then
    raise exception 'the attachment belongs to another user'
      using errcode = '42501', hint = 'Upload to a path of your own.';
  end if;
  if kept.sha256 is not null
    and (kept.sha256, kept.size, kept.media_type) is distinct from (lower(p_sha256), p_size, p_media_type)
  then
    raise exception 'the attachment was confirmed with another hash, size or media type'
      using errcode = '23514', hint = 'What was confirmed stays as it is: upload other bytes to a new path.';
  end if;
  update kizunasync.attachments a
  set sha256 = lower(p_sha256), size = p_size, media_type = p_media_type,
    table_name = coalesce(a.table_name, p_table), updated_at = clock_timestamp()
  where a.bucket_id = p_bucket and a.object_path = p_path;
end $$;

-- Whether the caller sees the row that an attachment hangs on: one that names its path in a column.
create or replace function kizunasync.attachment_row_is_visible(kept kizunasync.attachments) returns boolean
language plpgsql volatile set search_path = '' as $$
declare
  target jsonb;
  row_key text := split_part(kept.object_path, '/', 2);
begin
  select kizunasync.push_target(r, kizunasync.caller_role()) into target
  from kizunasync.registered_tables r where r.table_name = kept.table_name;
  if target is null
    or not kizunasync.push_is_canonical(row_key, array(select jsonb_array_elements_text(target -> 'key_types')))
  then
    return false;
  end if;
  perform kizunasync.enter();
  return exists (
    select from jsonb_each_text(kizunasync.push_image(target, row_key)) c where c.value = kept.object_path);
end $$;

create or replace function kizunasync.attachment_metadata(p_bucket_id text, p_object_path text) returns json
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set datestyle = 'ISO' as $$
declare
  kept kizunasync.attachments;
begin
  select a.* into kept from kizunasync.attachments a
  where a.bucket_id = p_bucket_id and a.object_path = p_object_path;
  if not found
    or (kept.owner_id is distinct from kizunasync.caller_id() and not kizunasync.attachment_row_is_visible(kept))
  then
    return '[]';
  end if;
  return json_build_array(json_build_object(
    'sha256', kept.sha256, 'size', kept.size, 'media_type', kept.media_type,
    'created_at', kept.created_at, 'updated_at', kept.updated_at));
end $$;

create or replace function kizunasync.attachment_vacuum(p_bucket text, p_path text) returns void
language plpgsql volatile security definer set search_path = '' as $$
begin
  if not kizunasync.attachment_object_exists(p_bucket, p_path, null) then
    delete from kizunasync.attachments a
    where a.bucket_id = p_bucket and a.object_path = p_path and a.owner_id = kizunasync.caller_id();
  end if;
end $$;
