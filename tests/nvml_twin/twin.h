/* The boards of the twin: one memory-mapped file that every process shares, as all processes share a real driver.
 *
 * Watts, joules, degrees C, seconds inside; NVML's milliwatts and millijoules only in nvml.c. */
#ifndef GRIDPACE_TWIN_H
#define GRIDPACE_TWIN_H

#include <pthread.h>
#include <stdint.h>

#define TWIN_EXPORT __attribute__((visibility("default")))
#define TWIN_BOARDS 16
#define TWIN_SLICES 7
#define TWIN_TEXT 96

/* What can be wrong with a board; the names stand in control.c. */
enum {
    TWIN_LOST = 1 << 0,       /* every call: GPU is lost */
    TWIN_TIMEOUT = 1 << 1,    /* every call: timeout */
    TWIN_NO_ENERGY = 1 << 2,  /* no energy counter */
    TWIN_NO_POWER = 1 << 3,   /* no power reading */
    TWIN_DENIED = 1 << 4,     /* setters: no permission, whoever asks */
    TWIN_IGNORED = 1 << 5,    /* setters succeed and change nothing */
    TWIN_BLANK = 1 << 6,      /* readings succeed with all bits set */
    TWIN_NO_FIELDS = 1 << 7,  /* a driver without the fields of limits, causes and margins */
    TWIN_NO_MARGIN = 1 << 8,  /* no margin temperature */
    TWIN_NO_CAUSES = 1 << 9,  /* no throttle-time counters */
    TWIN_NO_LIMIT = 1 << 10,  /* the board takes no limit for the GPU itself */
    TWIN_STUCK = 1 << 11,     /* a limit is taken, but never enforced */
    TWIN_NO_READ = 1 << 12,   /* the limit can be set, not read */
    TWIN_UNKNOWN = 1 << 13,   /* every call: unknown error */
    TWIN_OLD_FIELDS = 1 << 14, /* a driver that refuses all fields where it does not know one */
};

typedef struct {
    char uuid[TWIN_TEXT], profile[TWIN_TEXT];
    uint32_t gpu_instance, compute_instance;
} twin_slice;

typedef struct {
    char uuid[TWIN_TEXT], name[TWIN_TEXT], bus_id[TWIN_TEXT];
    uint32_t faults, architecture, mig_mode, slices, brake, persistence;
    twin_slice slice[TWIN_SLICES];
    /* limits */
    double lowest_w, highest_w, default_w, requested_w, enforced_w;
    double outside_w;                /* cap of the board's management controller; 0: none */
    double module_w, module_other_w; /* limit of the whole module and what the rest of it draws; 0: no module */
    double settle_s;                 /* from the request until the limit is in force */
    double rival_w, rival_s;         /* someone else sets rival_w, rival_s after each limit set here; 0: nobody */
    int64_t settle_ns, rival_ns;     /* when what is pending happens; 0: nothing is */
    /* load and power */
    double idle_w, demand_w, load, highest_mhz, locked_mhz, exponent;
    double average_s, average_w; /* window and value of the averaged reading */
    /* energy counter */
    double energy_j, shown_j, period_s;
    double module_j; /* what the rest of the module drew: the counter of a module counts it too */
    /* heat */
    double temperature_c, coolant_c, resistance_c_per_w, time_constant_s, max_c, slowdown_c, shutdown_c;
    /* time spent held back, by cause */
    double power_cap_s, sw_thermal_s, hw_thermal_s, brake_s;
    int64_t last_ns, tick_ns;
    uint64_t reads, writes;
} twin_board;

typedef struct {
    uint32_t boards, is_virtual, driver_absent, epoch;
    int64_t virtual_ns;
    double latency_s; /* what each call of the library takes, in real seconds */
    pthread_mutex_t mutex;
    twin_board board[TWIN_BOARDS];
} twin_state;

/* state.c */
twin_state *twin_map(const char *path, uint32_t boards);
void twin_lock(twin_state *state);
void twin_unlock(twin_state *state);
int64_t twin_now_ns(const twin_state *state);

/* model.c */
void twin_advance(const twin_state *state, twin_board *board);
double twin_power_w(const twin_board *board, double *clock_mhz);
void twin_request(const twin_state *state, twin_board *board, double limit_w, int by_rival);
void twin_reload(const twin_state *state, twin_board *board);

#endif
