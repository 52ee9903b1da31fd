#include "CUpstream.h"

// #embed is C23; clang takes it in older C as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char part_01[] = {
#embed "../../docker/upstream/01_placeholder.sql"
};

#define PART(name, bytes) {name, bytes, sizeof bytes}

static const cupstream_part parts[] = {
    PART("01_placeholder.sql", part_01),
};

size_t cupstream_count(void) { return sizeof parts / sizeof parts[0]; }
cupstream_part cupstream_part_at(size_t index) { return parts[index]; }
