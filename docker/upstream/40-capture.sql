-- Every change of a registered table is queued as it is made, and numbered when its transaction commits.
--
-- Numbers are drawn under one lock that is held to the end of the transaction. PostgreSQL shows a commit before it
-- releases its locks, so every snapshot sees a prefix of the numbers without a gap (but for those that an aborted
-- transaction burnt), and the greatest it sees is a safe cursor. An open transaction owns no number and delays nobody.

-- Row trigger. Arguments: the table's name on the wire, its bucket column or '', its key columns.
create or replace function kizunasync.capture() returns trigger
language plpgsql volatile security definer set search_path = '' set timezone = 'UTC' set datestyle = 'ISO'
set intervalstyle = 'postgres' set bytea_output = 'hex' set extra_float_digits = 1 as $$
declare
  xid constant xid8 := pg_current_xact_id();
  keys constant text[] := tg_argv[2:];
  bucket_column constant text := tg_argv[1];
  old_image jsonb;
  new_image jsonb;
  old_bucket text := '';
  new_bucket text := '';
  old_pk text;
  new_pk text;
begin
  if tg_op <> 'INSERT' then
    old_image := to_jsonb(old);
    old_pk := kizunasync.key_of(old_image, keys);
    if bucket_column <> '' then old_bucket := coalesce(old_image ->> bucket_column, ''); end if;
  end if;
  if tg_op <> 'DELETE' then
    new_image := to_jsonb(new);
    -- Nothing changed: no number is drawn, nobody is woken.
    if new_image = old_image then return null; end if;
    new_pk := kizunasync.key_of(new_image, keys);
    if bucket_column <> '' then new_bucket := coalesce(new_image ->> bucket_column, ''); end if;
  end if;

  if tg_op = 'DELETE' or new_pk <> old_pk then
    insert into kizunasync.pending_changes (xid, table_name, pk, bucket, kind)
      values (xid, tg_argv[0], old_pk, old_bucket, 'd');
    delete from kizunasync.hlc_state where table_name = tg_argv[0] and pk = old_pk;
  elsif new_bucket <> old_bucket and tg_op = 'UPDATE' then
    insert into kizunasync.pending_changes (xid, table_name, pk, bucket, kind)
      values (xid, tg_argv[0], old_pk, old_bucket, 'm');
  end if;
  if tg_op <> 'DELETE' then
    insert into kizunasync.pending_changes (xid, table_name, pk, bucket, kind)
      values (xid, tg_argv[0], new_pk, new_bucket, 'w');
  end if;
  perform kizunasync.arm(xid);
  return null;
end $$;

-- TRUNCATE removes every row that the log knows of.
create or replace function kizunasync.capture_truncate() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
begin
  insert into kizunasync.pending_changes (xid, table_name, pk, bucket, kind)
    select pg_current_xact_id(), tg_argv[0], l.pk, l.bucket, 'd'
    from (
      select distinct on (pk) pk, bucket, seq from kizunasync.change_log where table_name = tg_argv[0] order by pk, seq desc
    ) l
    where not exists (
      select from kizunasync.tombstones t where t.table_name = tg_argv[0] and t.pk = l.pk and t.seq > l.seq)
    order by l.seq;
  delete from kizunasync.hlc_state where table_name = tg_argv[0];
  perform kizunasync.arm(pg_current_xact_id());
  return null;
end $$;

-- Sees to it that this transaction is numbered at its commit. The mark is a transaction-local setting, which a
-- rollback to a savepoint takes back together with the row that would have fired the trigger.
create or replace function kizunasync.arm(xid xid8) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if current_setting('kizunasync.armed', true) is distinct from xid::text then
    perform set_config('kizunasync.armed', xid::text, true);
    insert into kizunasync.armed_transactions values (xid);
  end if;
end $$;

create or replace function kizunasync.lock_numbers() returns void
language sql volatile set search_path = '' as $$
  select pg_advisory_xact_lock(7737245411562086)
$$;

create or replace function kizunasync.number_changes() returns trigger
language plpgsql volatile security definer set search_path = '' as $$
declare
  me constant xid8 := pg_current_xact_id();
  amount bigint;
  first bigint;
  moment timestamptz;
  changed text;
begin
  perform set_config('kizunasync.armed', '', true);
  delete from kizunasync.armed_transactions where xid = me;
  perform kizunasync.lock_numbers();
  select count(*) into amount from kizunasync.pending_changes where xid = me;
  if amount = 0 then return null; end if;
  first := nextval('kizunasync.change_seq');
  if amount > 1 then perform setval('kizunasync.change_seq', first + amount - 1); end if;
  moment := clock_timestamp();
  for changed in
    with taken as (
      delete from kizunasync.pending_changes where xid = me returning *
    ), numbered as materialized (
      select first + row_number() over (order by ord) - 1 as seq, taken.* from taken
    ), logged as (
      insert into kizunasync.change_log (seq, table_name, pk, bucket, written_at, xid)
        select seq, table_name, pk, bucket, moment, me from numbered where kind = 'w' order by seq
    ), removed as (
      insert into kizunasync.tombstones as t (table_name, pk, bucket, seq, deleted_at)
        select distinct on (table_name, pk, bucket) table_name, pk, bucket, seq, moment
        from numbered where kind <> 'w' order by table_name, pk, bucket, seq desc
      on conflict (table_name, pk, bucket) do update set seq = excluded.seq, deleted_at = excluded.deleted_at
    ), journalled as (
      update kizunasync.overwrites o set winner_seq = n.seq, pending_ord = null
        from numbered n where o.pending_ord = n.ord
    )
    select distinct table_name from numbered
  loop
    perform kizunasync.ring(changed);
  end loop;
  return null;
end $$;

-- Tells who listens that a table has changed. A hint: losing it costs time only, and it must never cost a commit. So
-- nothing is sent by NOTIFY, with which a transaction can no longer be prepared.
create or replace function kizunasync.ring(p_table text) returns void
language plpgsql volatile set search_path = '' as $$
begin
  if to_regprocedure('realtime.send(jsonb,text,text,boolean)') is not null then
    execute 'select realtime.send(''{}''::jsonb, ''changed'', $1, true)' using 'kizunasync:' || p_table;
  end if;
exception when others then
  raise log 'kizunasync: nobody was told that % has changed: %', p_table, sqlerrm;
end $$;

do $$
begin
  if not exists (
    select from pg_catalog.pg_trigger
    where tgname = 'number_at_commit' and tgrelid = 'kizunasync.armed_transactions'::regclass)
  then
    create constraint trigger number_at_commit after insert on kizunasync.armed_transactions
      deferrable initially deferred for each row execute function kizunasync.number_changes();
  end if;
end $$;
