#define _GNU_SOURCE
#include "CSQLite.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

int csqlite_bind_text_static(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text ? text : "", length, SQLITE_STATIC);
}

int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const char *text, int length) {
  return sqlite3_bind_text(statement, index, text ? text : "", length, SQLITE_TRANSIENT);
}

int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, int length) {
  if (length == 0) return sqlite3_bind_zeroblob(statement, index, 0);
  return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

void csqlite_result_text_copy(sqlite3_context *context, const char *text, int length) {
  sqlite3_result_text(context, text ? text : "", length, SQLITE_TRANSIENT);
}

void csqlite_result_blob_copy(sqlite3_context *context, const void *bytes, int length) {
  if (length == 0)
    sqlite3_result_zeroblob(context, 0);
  else
    sqlite3_result_blob(context, bytes, length, SQLITE_TRANSIENT);
}

void csqlite_configure(void) {
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

void csqlite_strict_quotes(sqlite3 *connection) {
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
}

static _Thread_local void *thread_value;

void *csqlite_thread_get(void) { return thread_value; }
void csqlite_thread_set(void *value) { thread_value = value; }

void csqlite_thread_name(pthread_t thread, const char *name) { pthread_setname_np(thread, name); }

csqlite_lock *csqlite_lock_new(void) {
  csqlite_lock *lock = malloc(sizeof *lock);
  if (!lock) abort();
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&lock->mutex, NULL);
  pthread_cond_init(&lock->condition, &attributes);
  pthread_condattr_destroy(&attributes);
  return lock;
}

void csqlite_lock_free(csqlite_lock *lock) {
  pthread_cond_destroy(&lock->condition);
  pthread_mutex_destroy(&lock->mutex);
  free(lock);
}

void csqlite_lock_acquire(csqlite_lock *lock) { pthread_mutex_lock(&lock->mutex); }
void csqlite_lock_release(csqlite_lock *lock) { pthread_mutex_unlock(&lock->mutex); }
void csqlite_lock_signal(csqlite_lock *lock) { pthread_cond_signal(&lock->condition); }
void csqlite_lock_broadcast(csqlite_lock *lock) { pthread_cond_broadcast(&lock->condition); }

int csqlite_lock_wait(csqlite_lock *lock, long long milliseconds) {
  if (milliseconds < 0) {
    pthread_cond_wait(&lock->condition, &lock->mutex);
    return 1;
  }
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += milliseconds / 1000;
  until.tv_nsec += (milliseconds % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec += 1;
    until.tv_nsec -= 1000000000;
  }
  return pthread_cond_timedwait(&lock->condition, &lock->mutex, &until) != ETIMEDOUT;
}

struct csqlite_word {
  atomic_long value;
};

csqlite_word *csqlite_word_new(void) {
  csqlite_word *word = malloc(sizeof *word);
  if (!word) abort();
  atomic_init(&word->value, 0);
  return word;
}

void csqlite_word_free(csqlite_word *word) { free(word); }
long csqlite_word_load(csqlite_word *word) { return atomic_load(&word->value); }

long csqlite_word_add(csqlite_word *word, long amount) {
  return atomic_fetch_add(&word->value, amount) + amount;
}

long csqlite_word_set(csqlite_word *word, long bits) { return atomic_fetch_or(&word->value, bits); }

int csqlite_word_replace(csqlite_word *word, long expected, long desired) {
  return atomic_compare_exchange_strong(&word->value, &expected, desired);
}
