// SQLite as the engine uses it: the system's header, and what Swift cannot import from it
// (variadic functions, and macros that cast an integer to a function pointer).
#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>
#include <pthread.h>

/// Binds text that stays valid until the statement is reset or the parameter bound anew.
int csqlite_bind_text_static(sqlite3_stmt *statement, int index, const char *text, int length);
/// Binds text that SQLite copies.
int csqlite_bind_text_copy(sqlite3_stmt *statement, int index, const char *text, int length);
/// Binds a blob that SQLite copies.
int csqlite_bind_blob_copy(sqlite3_stmt *statement, int index, const void *bytes, int length);
/// The result of a function: text that SQLite copies.
void csqlite_result_text_copy(sqlite3_context *context, const char *text, int length);
void csqlite_result_blob_copy(sqlite3_context *context, const void *bytes, int length);
/// Process-wide switches; call once, before the first connection opens.
void csqlite_configure(void);

/// Takes text in double quotes for a name only: a misspelt one is an error, never a text.
void csqlite_strict_quotes(sqlite3 *connection);

/// One pointer for each thread.
void *csqlite_thread_get(void);
void csqlite_thread_set(void *value);

/// Names a thread, in at most 15 bytes.
void csqlite_thread_name(pthread_t thread, const char *name);

/// A word that threads change without a lock.
typedef struct csqlite_word csqlite_word;
csqlite_word *csqlite_word_new(void);
void csqlite_word_free(csqlite_word *word);
long csqlite_word_load(csqlite_word *word);
/// Adds and returns the sum.
long csqlite_word_add(csqlite_word *word, long amount);
/// Sets bits and returns what stood before.
long csqlite_word_set(csqlite_word *word, long bits);
/// Puts `desired` where `expected` stands; returns whether it stood there.
int csqlite_word_replace(csqlite_word *word, long expected, long desired);

/// A plain mutex and condition: the thread sanitizer understands these.
typedef struct {
  pthread_mutex_t mutex;
  pthread_cond_t condition;
} csqlite_lock;
csqlite_lock *csqlite_lock_new(void);
void csqlite_lock_free(csqlite_lock *lock);
void csqlite_lock_acquire(csqlite_lock *lock);
void csqlite_lock_release(csqlite_lock *lock);
void csqlite_lock_signal(csqlite_lock *lock);
void csqlite_lock_broadcast(csqlite_lock *lock);
/// Waits for a signal; with milliseconds >= 0, at most so long. Returns 0 when the time ran out.
int csqlite_lock_wait(csqlite_lock *lock, long long milliseconds);

#endif
