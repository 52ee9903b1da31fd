/* Preloaded (LD_PRELOAD) into a server under test: every fsync and fdatasync takes 2 ms more, as on a laptop's SSD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

typedef int (*sync_call)(int);

static int slowly(const char *name, int descriptor) {
  const struct timespec delay = {0, 2000000};
  sync_call original = (sync_call)dlsym(RTLD_NEXT, name);
  nanosleep(&delay, NULL);
  return original(descriptor);
}

int fsync(int descriptor) { return slowly("fsync", descriptor); }
int fdatasync(int descriptor) { return slowly("fdatasync", descriptor); }
