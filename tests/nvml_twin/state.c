/* The shared file: made once, mapped by every process, guarded by a mutex that survives the death of its holder. */
#define _GNU_SOURCE
#include "twin.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* boards above 0 makes the file anew; 0 opens what another process made. */
twin_state *twin_map(const char *path, uint32_t boards) {
    int file = open(path, O_RDWR | O_CLOEXEC | (boards ? O_CREAT | O_TRUNC : 0), 0666);
    if (file < 0) return NULL;
    twin_state *state = NULL;
    if (!boards || ftruncate(file, sizeof *state) == 0)
        state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (state == NULL || state == MAP_FAILED) return NULL;
    if (boards) {
        pthread_mutexattr_t shared;
        pthread_mutexattr_init(&shared);
        pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&state->mutex, &shared);
        state->boards = boards;
    }
    return state;
}

void twin_lock(twin_state *state) {
    if (pthread_mutex_lock(&state->mutex) == EOWNERDEAD) pthread_mutex_consistent(&state->mutex);
}

void twin_unlock(twin_state *state) { pthread_mutex_unlock(&state->mutex); }

int64_t twin_now_ns(const twin_state *state) {
    if (state->is_virtual) return state->virtual_ns;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
