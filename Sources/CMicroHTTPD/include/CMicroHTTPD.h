// libmicrohttpd: the system's header; the shims that Swift needs stand in shim.c.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>

#endif
