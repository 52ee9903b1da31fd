/* The yardstick: the least C program that answers the benchmark's requests with libmicrohttpd and SQLite.
 *
 *   baseline DATABASE PORT THREADS
 *
 * One table and five fixed statements, JSON by hand, no schema, no dialect, no queue. Reads use a connection and
 * prepared statements of their own in each server thread; a write is a transaction of its own (row and outbox entry)
 * on one connection behind a mutex, so its rate is the rate of one commit a request. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define COLUMNS 6
#define CONNECTION_MEMORY (16 * 1024)

static const char *database_path;
static int listener;

static void die(const char *what) {
  perror(what);
  exit(74);
}

struct buffer {
  char *bytes;
  size_t count, capacity;
};

static void reserve(struct buffer *out, size_t more) {
  if (out->count + more <= out->capacity) return;
  out->capacity = (out->count + more) * 2;
  out->bytes = realloc(out->bytes, out->capacity);
  if (out->bytes == NULL) die("memory");
}

static void append(struct buffer *out, const char *bytes, size_t count) {
  reserve(out, count);
  memcpy(out->bytes + out->count, bytes, count);
  out->count += count;
}

static void append_string(struct buffer *out, const char *text, size_t count) {
  reserve(out, count * 6 + 2);
  char *to = out->bytes + out->count;
  *to++ = '"';
  for (size_t i = 0; i < count; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '"' || byte == '\\') {
      *to++ = '\\';
      *to++ = (char)byte;
    } else if (byte < 0x20) {
      to += sprintf(to, "\\u%04x", byte);
    } else {
      *to++ = (char)byte;
    }
  }
  *to++ = '"';
  out->count = (size_t)(to - out->bytes);
}

/* "2026-01-02 03:04:05.678900" is shown as "2026-01-02T03:04:05.6789+00:00". */
static void append_time(struct buffer *out, const char *text, size_t count) {
  while (count > 19 && text[count - 1] == '0') count--;
  if (count == 20) count = 19;
  reserve(out, count + 8);
  char *to = out->bytes + out->count;
  *to = '"';
  memcpy(to + 1, text, count);
  if (count > 10) to[11] = 'T';
  memcpy(to + 1 + count, "+00:00\"", 7);
  out->count += count + 8;
}

enum shape { TEXT, BOOLEAN, INTEGER, TIME };
struct column {
  const char *prefix;
  enum shape shape;
};

static const struct column row_columns[] = {{"{\"id\":", TEXT},          {",\"list_id\":", TEXT},
                                            {",\"title\":", TEXT},       {",\"done\":", BOOLEAN},
                                            {",\"n\":", INTEGER},        {",\"created_at\":", TIME}};
static const struct column list_columns[] = {{"{\"id\":", TEXT},
                                             {",\"title\":", TEXT},
                                             {",\"done\":", BOOLEAN},
                                             {",\"n\":", INTEGER},
                                             {",\"created_at\":", TIME}};

struct reader {
  sqlite3 *connection;
  sqlite3_stmt *by_key, *by_list;
};

static _Thread_local struct reader reader;

static sqlite3_stmt *prepare(sqlite3 *connection, const char *sql) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v3(connection, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(connection));
    exit(74);
  }
  return statement;
}

static sqlite3 *open_database(const char *pragmas) {
  sqlite3 *connection;
  if (sqlite3_open_v2(database_path, &connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
      sqlite3_exec(connection, pragmas, NULL, NULL, NULL) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", database_path, sqlite3_errmsg(connection));
    exit(74);
  }
  sqlite3_busy_timeout(connection, 5000);
  return connection;
}

static struct reader *thread_reader(void) {
  if (reader.connection == NULL) {
    reader.connection = open_database("PRAGMA query_only=1; PRAGMA cache_size=-2048; PRAGMA mmap_size=268435456");
    reader.by_key = prepare(reader.connection, "SELECT id,list_id,title,done,n,created_at FROM todos WHERE id=?1");
    reader.by_list = prepare(
        reader.connection, "SELECT id,title,done,n,created_at FROM todos WHERE list_id=?1 ORDER BY title LIMIT 20");
  }
  return &reader;
}

static int append_rows(struct buffer *out, sqlite3_stmt *statement, const struct column *columns, int count,
                       const char *key) {
  int rows = 0;
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  append(out, "[", 1);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (rows++ > 0) append(out, ",\n ", 3);
    for (int i = 0; i < count; i++) {
      append(out, columns[i].prefix, strlen(columns[i].prefix));
      const char *text = (const char *)sqlite3_column_text(statement, i);
      size_t length = (size_t)sqlite3_column_bytes(statement, i);
      if (text == NULL)
        append(out, "null", 4);
      else if (columns[i].shape == TEXT)
        append_string(out, text, length);
      else if (columns[i].shape == TIME)
        append_time(out, text, length);
      else if (columns[i].shape == BOOLEAN)
        append(out, *text == '1' ? "true" : "false", *text == '1' ? 4 : 5);
      else
        append(out, text, length);
    }
    append(out, "}", 1);
  }
  append(out, "]", 1);
  sqlite3_reset(statement);
  return rows;
}

static pthread_mutex_t writer_lock = PTHREAD_MUTEX_INITIALIZER;
static sqlite3 *writer;
static sqlite3_stmt *begin, *commit, *rollback, *delete_row, *insert_row, *queue;

static void open_writer(void) {
  writer = open_database("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=10000;"
                         "PRAGMA cache_size=-65536");
  begin = prepare(writer, "BEGIN IMMEDIATE");
  commit = prepare(writer, "COMMIT");
  rollback = prepare(writer, "ROLLBACK");
  delete_row = prepare(writer, "DELETE FROM todos WHERE id=?1");
  insert_row = prepare(writer, "INSERT INTO todos(id,list_id,title,done,n,created_at) VALUES(?1,?2,?3,?4,?5,?6)");
  queue = prepare(writer, "INSERT INTO outbox(mutation_id,write_id,\"table\",pk,op,columns,created_at) "
                          "VALUES(lower(hex(randomblob(16))),lower(hex(randomblob(16))),'todos',?1,?2,?3,"
                          "strftime('%s','now'))");
}

static int step(sqlite3_stmt *statement) {
  int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  return result == SQLITE_DONE;
}

/* Runs one row statement and its outbox entry in a transaction; the statement is bound already. */
static int write_row(sqlite3_stmt *change, const char *key, const char *op, const char *columns, int length) {
  int done = step(begin) && step(change);
  if (done && sqlite3_changes(writer) > 0) {
    sqlite3_bind_text(queue, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(queue, 2, op, -1, SQLITE_STATIC);
    sqlite3_bind_text(queue, 3, columns, length, SQLITE_STATIC);
    done = step(queue);
  }
  done = done && step(commit);
  if (!done && !sqlite3_get_autocommit(writer)) step(rollback);
  return done;
}

static int delete_key(const char *key) {
  pthread_mutex_lock(&writer_lock);
  sqlite3_bind_text(delete_row, 1, key, -1, SQLITE_STATIC);
  int done = write_row(delete_row, key, "delete", NULL, 0);
  pthread_mutex_unlock(&writer_lock);
  return done;
}

/* The value after "name": in a flat JSON object without escapes, which is what the benchmark sends. */
static int find_value(const char *body, const char *name, const char **value, int *length) {
  const char *at = strstr(body, name);
  if (at == NULL) return 0;
  at += strlen(name);
  if (*at == '"') {
    const char *end = strchr(++at, '"');
    if (end == NULL) return 0;
    *length = (int)(end - at);
  } else {
    *length = (int)strcspn(at, ",}");
  }
  *value = at;
  return 1;
}

static int insert_body(const char *body, size_t count, char key[64]) {
  static const char *const names[COLUMNS] = {"\"id\":",   "\"list_id\":", "\"title\":",
                                             "\"done\":", "\"n\":",       "\"created_at\":"};
  const char *values[COLUMNS];
  int lengths[COLUMNS];
  char time[27];
  for (int i = 0; i < COLUMNS; i++)
    if (!find_value(body, names[i], &values[i], &lengths[i])) return 0;
  if (lengths[0] > 63 || lengths[5] < 26) return 0;
  memcpy(key, values[0], (size_t)lengths[0]);
  key[lengths[0]] = 0;
  memcpy(time, values[5], 26);
  time[10] = ' ';
  pthread_mutex_lock(&writer_lock);
  for (int i = 0; i < 3; i++) sqlite3_bind_text(insert_row, i + 1, values[i], lengths[i], SQLITE_STATIC);
  sqlite3_bind_int(insert_row, 4, *values[3] == 't');
  sqlite3_bind_int64(insert_row, 5, atoll(values[4]));
  sqlite3_bind_text(insert_row, 6, time, 26, SQLITE_STATIC);
  int done = write_row(insert_row, key, "insert", body, (int)count);
  pthread_mutex_unlock(&writer_lock);
  return done;
}

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, struct buffer *out,
                              const char *range) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(out->count, out->bytes, MHD_RESPMEM_MUST_FREE);
  MHD_add_response_header(response, "Content-Type", "application/json; charset=utf-8");
  if (range != NULL) MHD_add_response_header(response, "Content-Range", range);
  enum MHD_Result result = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return result;
}

static const char *operand(struct MHD_Connection *connection, const char *name) {
  const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
  return value != NULL && strncmp(value, "eq.", 3) == 0 ? value + 3 : NULL;
}

static enum MHD_Result read_rows(struct MHD_Connection *connection) {
  struct buffer out = {malloc(4096), 0, 4096};
  struct reader *mine = thread_reader();
  const char *key = operand(connection, "id"), *list = operand(connection, "list_id");
  char range[32];
  int rows = 0;
  if (out.bytes == NULL) die("memory");
  if (key != NULL)
    rows = append_rows(&out, mine->by_key, row_columns, 6, key);
  else if (list != NULL)
    rows = append_rows(&out, mine->by_list, list_columns, 5, list);
  else
    append(&out, "[]", 2);
  snprintf(range, sizeof range, rows > 0 ? "0-%d/*" : "*/*", rows - 1);
  return answer(connection, 200, &out, range);
}

static enum MHD_Result write_answer(struct MHD_Connection *connection, unsigned status, const char *key) {
  struct buffer out = {malloc(96), 0, 96};
  if (out.bytes == NULL) die("memory");
  append(&out, "[", 1);
  if (key != NULL) append_string(&out, key, strlen(key));
  append(&out, "]", 1);
  return answer(connection, status, &out, NULL);
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state) {
  (void)cls, (void)version;
  struct buffer *body = *state;
  if (body == NULL) {
    /* An answer to this first call would close the connection. */
    *state = calloc(1, sizeof(struct buffer));
    return *state != NULL ? MHD_YES : MHD_NO;
  }
  if (*upload_size > 0) {
    append(body, upload, *upload_size);
    *upload_size = 0;
    return MHD_YES;
  }
  if (strcmp(url, "/rest/v1/todos") != 0) return write_answer(connection, strcmp(url, "/ready") == 0 ? 200 : 404, NULL);
  if (strcmp(method, "GET") == 0) return read_rows(connection);
  if (strcmp(method, "DELETE") == 0) {
    const char *key = operand(connection, "id");
    int done = key != NULL && delete_key(key);
    return write_answer(connection, done ? 200 : 500, done ? key : NULL);
  }
  if (strcmp(method, "POST") == 0 && body->count > 0) {
    char key[64];
    append(body, "", 1);
    int done = insert_body(body->bytes, body->count - 1, key);
    return write_answer(connection, done ? 201 : 500, done ? key : NULL);
  }
  return write_answer(connection, 405, NULL);
}

/* Called by libmicrohttpd when a request is over, however it ended. */
static void completed(void *cls, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
  (void)cls, (void)connection, (void)code;
  struct buffer *body = *state;
  if (body == NULL) return;
  free(body->bytes);
  free(body);
  *state = NULL;
}

static void *accept_loop(void *argument) {
  struct MHD_Daemon *daemon = argument;
  int on = 1;
  for (;;) {
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    int client = accept4(listener, (struct sockaddr *)&address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) continue;
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    MHD_add_connection(daemon, client, (struct sockaddr *)&address, length);
  }
  return NULL;
}

static int listen_on(int port) {
  int on = 1, descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0 || listen(descriptor, 512) != 0) die("listen");
  return descriptor;
}

int main(int count, char **arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: baseline DATABASE PORT THREADS\n");
    return 64;
  }
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, NULL);
  signal(SIGPIPE, SIG_IGN);
  database_path = arguments[1];
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  open_writer();
  listener = listen_on(atoi(arguments[2]));
  struct MHD_Daemon *daemon = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC, 0, NULL, NULL, handle, NULL,
      MHD_OPTION_THREAD_POOL_SIZE, (unsigned)atoi(arguments[3]), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      (size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_LIMIT, 1024u, MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
      MHD_OPTION_END);
  if (daemon == NULL) die("libmicrohttpd");
  pthread_t acceptor;
  if (pthread_create(&acceptor, NULL, accept_loop, daemon) != 0) die("thread");
  printf("ready\n");
  fflush(stdout);
  int received;
  sigwait(&ends, &received);
  sqlite3_wal_checkpoint_v2(writer, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
  return 0;
}
