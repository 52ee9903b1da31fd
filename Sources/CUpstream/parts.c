#include "CUpstream.h"

// #embed is C23; clang takes it in older C as an extension.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char part_10[] = {
#embed "../../docker/upstream/10-roles.sql"
};
static const unsigned char part_20[] = {
#embed "../../docker/upstream/20-tables.sql"
};
static const unsigned char part_30[] = {
#embed "../../docker/upstream/30-callers.sql"
};
static const unsigned char part_40[] = {
#embed "../../docker/upstream/40-capture.sql"
};
static const unsigned char part_45[] = {
#embed "../../docker/upstream/45-registration.sql"
};
static const unsigned char part_50[] = {
#embed "../../docker/upstream/50-pull.sql"
};
static const unsigned char part_60[] = {
#embed "../../docker/upstream/60-push.sql"
};
static const unsigned char part_70[] = {
#embed "../../docker/upstream/70-attachments.sql"
};
static const unsigned char part_80[] = {
#embed "../../docker/upstream/80-maintenance.sql"
};
static const unsigned char part_90[] = {
#embed "../../docker/upstream/90-grants.sql"
};

#define PART(name, bytes) {name, bytes, sizeof bytes}

// In the order in which they run.
static const cupstream_part parts[] = {
    PART("10-roles.sql", part_10),
    PART("20-tables.sql", part_20),
    PART("30-callers.sql", part_30),
    PART("40-capture.sql", part_40),
    PART("45-registration.sql", part_45),
    PART("50-pull.sql", part_50),
    PART("60-push.sql", part_60),
    PART("70-attachments.sql", part_70),
    PART("80-maintenance.sql", part_80),
    PART("90-grants.sql", part_90),
};

size_t cupstream_count(void) { return sizeof parts / sizeof parts[0]; }
cupstream_part cupstream_part_at(size_t index) { return parts[index]; }
