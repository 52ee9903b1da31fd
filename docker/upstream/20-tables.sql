-- What the server half keeps. Nothing here can be read or written by a client.

-- Whether a text is five fields of cron: minute, hour, day, month, weekday, each a list of numbers, ranges and steps.
create or replace function kizunasync.is_schedule(p_text text) returns boolean
language sql immutable set search_path = '' as $$
  select count(*) = 5 and coalesce(bool_and(
    field ~ '^(\*|\d{1,2}(-\d{1,2})?)(/[1-9]\d?)?(,(\*|\d{1,2}(-\d{1,2})?)(/[1-9]\d?)?)*$'
    and not exists (
      select from regexp_matches(regexp_replace(field, '/\d+', '', 'g'), '\d+', 'g') number
      where number[1]::integer not between (array[0, 0, 1, 1, 0])[place] and (array[59, 23, 31, 12, 7])[place])), false)
  from regexp_split_to_table(p_text, '\s+') with ordinality fields(field, place)
$$;

create table if not exists kizunasync.settings (
  only_row boolean primary key default true check (only_row),
  -- Mutations a push may carry; null: as many as it likes.
  max_batch_size integer default 500 check (max_batch_size >= 1),
  require_atomic boolean not null default false,
  -- Candidates that one pull examines.
  max_pull_scan integer not null default 5000 check (max_pull_scan >= 1),
  tombstone_ttl_days integer not null default 30 check (tombstone_ttl_days >= 1),
  client_ttl_days integer not null default 90 check (client_ttl_days >= 1),
  -- How far a device's clock may run ahead.
  hlc_max_skew_ms integer not null default 5000 check (hlc_max_skew_ms >= 0),
  -- For pg_cron, where it is installed; UTC.
  reap_schedule text not null default '16 3 * * *'
    check (kizunasync.is_schedule(reap_schedule)),
  compact_schedule text not null default '47 3 * * *'
    check (kizunasync.is_schedule(compact_schedule)),
  client_prune_schedule text not null default '31 3 * * *'
    check (kizunasync.is_schedule(client_prune_schedule))
);
insert into kizunasync.settings default values on conflict do nothing;

create table if not exists kizunasync.registered_tables (
  -- As it is called on the wire.
  table_name text primary key check (table_name ~ '^[a-z][a-z0-9_]*$'),
  schema_name text not null,
  sync_mode text not null default 'read-write' check (sync_mode in ('pull-only', 'read-write')),
  bucket_column text,
  soft_delete_column text,
  key_columns text[] not null,
  conflict_mode text not null default 'arrival' check (conflict_mode in ('arrival', 'hlc')),
  conflict_journal boolean not null default false,
  register_clients boolean not null default false,
  min_schema_version integer not null default 1 check (min_schema_version >= 1),
  tombstone_ttl_days integer check (tombstone_ttl_days >= 1)
);

-- One number for every change of every table, drawn at commit under one lock.
create sequence if not exists kizunasync.change_seq as bigint cache 1;

-- Changes of open transactions, in the order in which they were made: w is a write, m leaves a bucket value, d is a
-- removal. Empty outside a transaction, so nothing is lost with a crash.
create unlogged table if not exists kizunasync.pending_changes (
  ord bigint generated always as identity primary key,
  xid xid8 not null,
  table_name text not null,
  pk text not null,
  bucket text not null,
  kind "char" not null
);
create index if not exists pending_changes_row on kizunasync.pending_changes (xid, table_name, pk, ord);

-- Its rows exist to fire one deferred trigger a transaction.
create unlogged table if not exists kizunasync.armed_transactions (xid xid8 not null);

create table if not exists kizunasync.change_log (
  seq bigint primary key,
  table_name text not null,
  pk text not null,
  -- The row's bucket value at that write; '' for none.
  bucket text not null,
  written_at timestamptz not null,
  xid xid8 not null
);
create index if not exists change_log_scope on kizunasync.change_log (table_name, bucket, seq);
create index if not exists change_log_row on kizunasync.change_log (table_name, pk, seq);

-- A row leaves one for each bucket value that it was removed from.
create table if not exists kizunasync.tombstones (
  table_name text not null,
  pk text not null,
  bucket text not null,
  seq bigint not null,
  deleted_at timestamptz not null,
  primary key (table_name, pk, bucket)
);
create index if not exists tombstones_scope on kizunasync.tombstones (table_name, bucket, seq);
create unique index if not exists tombstones_seq on kizunasync.tombstones (seq);

-- Which bucket values of a table a user has been sent rows of: only of those does it hear removals.
create table if not exists kizunasync.grants (
  user_id text not null,
  table_name text not null,
  bucket text not null,
  granted_at timestamptz not null default now(),
  primary key (user_id, table_name, bucket)
);

-- The verdict on every mutation that was decided, its row left out.
create table if not exists kizunasync.ledger (
  mutation_id uuid primary key,
  -- null: pushed without an identity.
  user_id text,
  table_name text not null,
  pk text not null,
  -- {"verdict", "reason"?, "has_row"}
  verdict jsonb not null,
  recorded_at timestamptz not null default now()
);
create index if not exists ledger_age on kizunasync.ledger (recorded_at);

create table if not exists kizunasync.clients (
  client_key text primary key,
  user_id text,
  cursor text not null default '0',
  last_mutation_id uuid,
  schema_version integer,
  last_seen timestamptz not null default clock_timestamp()
);
create index if not exists clients_user on kizunasync.clients (user_id, last_seen);

-- Per row of an hlc table: which stamp each column was last won with.
create table if not exists kizunasync.hlc_state (
  table_name text not null,
  pk text not null,
  -- {column: stamp}
  stamps jsonb not null default '{}',
  primary key (table_name, pk)
);

-- Values that a pushed assignment replaced, of tables that keep this journal.
create table if not exists kizunasync.overwrites (
  id bigint generated always as identity primary key,
  table_name text not null,
  pk text not null,
  column_name text not null,
  loser_value jsonb,
  winner_mutation_id uuid not null,
  conflict_mode text not null,
  -- The winning write in pending_changes, until it has a number.
  pending_ord bigint,
  winner_seq bigint,
  at timestamptz not null default now()
);
create index if not exists overwrites_winner on kizunasync.overwrites (winner_seq);
create index if not exists overwrites_pending on kizunasync.overwrites (pending_ord) where pending_ord is not null;

create table if not exists kizunasync.reap_state (
  only_row boolean primary key default true check (only_row),
  -- The highest number of a tombstone that is gone.
  reaped_seq bigint not null default 0,
  last_run_at timestamptz
);
insert into kizunasync.reap_state default values on conflict do nothing;

-- What is known of attachments whose bytes lie in object storage.
create table if not exists kizunasync.attachments (
  bucket_id text not null,
  object_path text not null,
  owner_id text not null,
  table_name text,
  sha256 text,
  size bigint,
  media_type text,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (bucket_id, object_path)
);
