// The server half: the SQL of docker/upstream, as it was when this was built.
#ifndef CUPSTREAM_H
#define CUPSTREAM_H

#include <stddef.h>

typedef struct {
  const char *name;
  // UTF-8, not terminated.
  const unsigned char *bytes;
  size_t count;
} cupstream_part;

size_t cupstream_count(void);
// In the order in which they are to be run; below the count.
cupstream_part cupstream_part_at(size_t index);

#endif
