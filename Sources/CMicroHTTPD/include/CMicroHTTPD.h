// libmicrohttpd as the server uses it: the system's header, and what Swift cannot import from it
// (variadic functions), with the counter that both sides of a shutdown read.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>
#include <sys/socket.h>

/// How a daemon runs. Every callback gets `context` first.
typedef struct {
  unsigned int threads;
  unsigned int connection_limit;
  unsigned int idle_timeout_seconds;
  size_t connection_memory;
  void *context;
  /// On a server thread, when the request line is read; its result belongs to the request.
  void *(*begin)(void *context, const char *target, struct MHD_Connection *connection);
  /// On a server thread: once after the headers, then for each part of the body, then once at the end.
  MHD_AccessHandlerCallback handle;
  /// On a server thread, once for every `begin`: frees what `begin` gave.
  MHD_RequestCompletedCallback complete;
  /// On a server thread, when a connection starts and before it is closed.
  MHD_NotifyConnectionCallback connection_changed;
} cmicrohttpd_settings;

/// A daemon without a socket of its own, one epoll loop a thread, connections that can be suspended.
struct MHD_Daemon *cmicrohttpd_start(const cmicrohttpd_settings *settings);

/// A stream socket, close-on-exec, that does not block; or -1 with errno.
int cmicrohttpd_socket(int family);
/// The next connection of a listening socket, close-on-exec, that does not block; or -1 with errno.
int cmicrohttpd_accept(int listener, struct sockaddr *address, socklen_t *size);
/// The two ends of a pipe, close-on-exec, that do not block; 0, or -1 with errno.
int cmicrohttpd_pipe(int ends[2]);

/// The descriptor of a connection, or -1.
int cmicrohttpd_descriptor(struct MHD_Connection *connection);
/// 0: a Unix socket; 1: TCP from this machine; 2: TCP from elsewhere.
int cmicrohttpd_peer(struct MHD_Connection *connection);

/// Sends a response of unknown length without chunks: its end is the end of the connection.
void cmicrohttpd_end_by_close(struct MHD_Response *response);

/// A word that threads change without a lock.
typedef struct cmicrohttpd_word cmicrohttpd_word;
cmicrohttpd_word *cmicrohttpd_word_new(void);
void cmicrohttpd_word_free(cmicrohttpd_word *word);
long cmicrohttpd_word_load(cmicrohttpd_word *word);
/// Adds and returns the sum.
long cmicrohttpd_word_add(cmicrohttpd_word *word, long amount);
/// Sets bits and returns what stood before.
long cmicrohttpd_word_set(cmicrohttpd_word *word, long bits);
/// Puts `desired` where `expected` stands; returns whether it stood there.
int cmicrohttpd_word_replace(cmicrohttpd_word *word, long expected, long desired);

#endif
