#define _GNU_SOURCE
#include "CMicroHTTPD.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct MHD_Daemon *cmicrohttpd_start(const cmicrohttpd_settings *settings) {
  // A pool of one is no pool: the option then only draws a warning.
  enum MHD_OPTION last = settings->threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END;
  struct MHD_OptionItem options[] = {
    {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)settings->connection_memory, NULL},
    {MHD_OPTION_CONNECTION_LIMIT, (intptr_t)settings->connection_limit, NULL},
    {MHD_OPTION_CONNECTION_TIMEOUT, (intptr_t)settings->idle_timeout_seconds, NULL},
    {MHD_OPTION_URI_LOG_CALLBACK, (intptr_t)settings->begin, settings->context},
    {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)settings->complete, settings->context},
    {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)settings->connection_changed, settings->context},
    {last, (intptr_t)settings->threads, NULL},
    {MHD_OPTION_END, 0, NULL},
  };
  return MHD_start_daemon(
    MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL,
    settings->handle, settings->context, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

int cmicrohttpd_socket(int family) { return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int cmicrohttpd_accept(int listener, struct sockaddr *address, socklen_t *size) {
  return accept4(listener, address, size, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int cmicrohttpd_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }

int cmicrohttpd_descriptor(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

int cmicrohttpd_peer(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (!info || !info->client_addr) return 2;
  const struct sockaddr *address = info->client_addr;
  if (address->sa_family == AF_UNIX) return 0;
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;
    return (ntohl(four->sin_addr.s_addr) >> 24) == 127 ? 1 : 2;
  }
  if (address->sa_family == AF_INET6) {
    const struct in6_addr *six = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (IN6_IS_ADDR_LOOPBACK(six)) return 1;
    return IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127 ? 1 : 2;
  }
  return 2;
}

void cmicrohttpd_end_by_close(struct MHD_Response *response) {
  MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
}

struct cmicrohttpd_word {
  atomic_long value;
};

cmicrohttpd_word *cmicrohttpd_word_new(void) {
  cmicrohttpd_word *word = malloc(sizeof *word);
  if (!word) abort();
  atomic_init(&word->value, 0);
  return word;
}

void cmicrohttpd_word_free(cmicrohttpd_word *word) { free(word); }
long cmicrohttpd_word_load(cmicrohttpd_word *word) { return atomic_load(&word->value); }

long cmicrohttpd_word_add(cmicrohttpd_word *word, long amount) {
  return atomic_fetch_add(&word->value, amount) + amount;
}

long cmicrohttpd_word_set(cmicrohttpd_word *word, long bits) { return atomic_fetch_or(&word->value, bits); }

int cmicrohttpd_word_replace(cmicrohttpd_word *word, long expected, long desired) {
  return atomic_compare_exchange_strong(&word->value, &expected, desired);
}
