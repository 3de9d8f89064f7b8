/* Limit and clock -> power -> energy and temperature -> clock: the loop is closed, and stepped from call to call.
 *
 * Above idle, power follows the clock by P ~ f^exponent, so a limit that binds lowers the clock; work done is taken as
 * proportional to the clock. At its highest operating temperature a board draws no more than its cooling carries off; at
 * the slowdown temperature, and while the power brake is pulled, the clock is halved. */
#include "twin.h"

#include <math.h>

#define SECOND_NS 1e9
#define STEPS_AT_MOST 20000
#define SHORTEST_NS 1000000

typedef struct {
    double power_w, clock_mhz;
    int power_cap, sw_thermal, hw_thermal, brake;
} operating_point;

static double bound_w(const twin_board *board) {
    double limit_w = board->requested_w;
    if (board->outside_w > 0 && board->outside_w < limit_w) limit_w = board->outside_w;
    if (board->module_w > 0 && board->module_w - board->module_other_w < limit_w)
        limit_w = board->module_w - board->module_other_w;
    return limit_w;
}

static operating_point operate(const twin_board *board) {
    operating_point now = {0};
    double dynamic_w = (board->demand_w - board->idle_w) * board->load;
    double share = board->locked_mhz > 0 ? fmin(board->locked_mhz / board->highest_mhz, 1.0) : 1.0;
    now.brake = board->brake != 0;
    now.hw_thermal = board->temperature_c >= board->slowdown_c;
    if (now.brake || now.hw_thermal) share /= 2;
    double wanted_w = board->idle_w + dynamic_w * pow(share, board->exponent);
    double carried_w = (board->max_c - board->coolant_c) / board->resistance_c_per_w;
    now.sw_thermal = board->temperature_c >= board->max_c && carried_w < wanted_w;
    double limit_w = now.sw_thermal ? fmin(board->enforced_w, carried_w) : board->enforced_w;
    now.power_cap = board->enforced_w < wanted_w && board->enforced_w <= limit_w;
    if (limit_w < wanted_w) {
        double room = fmax(limit_w - board->idle_w, 0.0) / (wanted_w - board->idle_w);
        share *= pow(room, 1 / board->exponent);
        wanted_w = fmax(limit_w, board->idle_w);
    }
    now.power_w = wanted_w;
    now.clock_mhz = share * board->highest_mhz;
    return now;
}

double twin_power_w(const twin_board *board, double *clock_mhz) {
    operating_point now = operate(board);
    if (clock_mhz) *clock_mhz = now.clock_mhz;
    return now.power_w;
}

static void step(twin_board *board, double elapsed_s) {
    operating_point now = operate(board);
    board->energy_j += now.power_w * elapsed_s;
    board->module_j += board->module_other_w * elapsed_s;
    double kept = board->average_s > 0 ? exp(-elapsed_s / board->average_s) : 0.0;
    board->average_w = now.power_w + (board->average_w - now.power_w) * kept;
    double steady_c = board->coolant_c + board->resistance_c_per_w * now.power_w;
    board->temperature_c = steady_c + (board->temperature_c - steady_c) * exp(-elapsed_s / board->time_constant_s);
    board->power_cap_s += now.power_cap ? elapsed_s : 0;
    board->sw_thermal_s += now.sw_thermal ? elapsed_s : 0;
    board->hw_thermal_s += now.hw_thermal ? elapsed_s : 0;
    board->brake_s += now.brake ? elapsed_s : 0;
}

static void settle(const twin_state *state, twin_board *board, int64_t at_ns) {
    if (board->rival_ns && at_ns >= board->rival_ns) {
        board->rival_ns = 0;
        twin_request(state, board, board->rival_w, 1);
    }
    if (board->settle_ns && at_ns >= board->settle_ns) {
        board->settle_ns = 0;
        if (!(board->faults & TWIN_STUCK)) board->enforced_w = bound_w(board);
    }
}

/* Carry a board to the present; the caller holds the lock. */
void twin_advance(const twin_state *state, twin_board *board) {
    int64_t now_ns = twin_now_ns(state);
    if (!board->last_ns) board->last_ns = board->tick_ns = now_ns;
    int64_t period_ns = (int64_t)(board->period_s * SECOND_NS);
    int64_t stride_ns = (now_ns - board->last_ns) / STEPS_AT_MOST;
    if (stride_ns < period_ns) stride_ns = period_ns;
    if (stride_ns < SHORTEST_NS) stride_ns = SHORTEST_NS;
    while (board->last_ns < now_ns) {
        int64_t to_ns = board->tick_ns + stride_ns;
        if (to_ns <= board->last_ns) to_ns = board->last_ns + stride_ns; /* the period was made shorter */
        if (board->settle_ns > board->last_ns && board->settle_ns < to_ns) to_ns = board->settle_ns;
        if (board->rival_ns > board->last_ns && board->rival_ns < to_ns) to_ns = board->rival_ns;
        if (to_ns > now_ns) to_ns = now_ns;
        step(board, (double)(to_ns - board->last_ns) / SECOND_NS);
        board->last_ns = to_ns;
        if (to_ns - board->tick_ns >= period_ns) {
            board->tick_ns = to_ns;
            board->shown_j = board->energy_j + board->module_j;
        }
        settle(state, board, to_ns);
    }
    settle(state, board, now_ns);
}

void twin_request(const twin_state *state, twin_board *board, double limit_w, int by_rival) {
    int64_t now_ns = twin_now_ns(state);
    int64_t from_ns = board->last_ns && board->last_ns < now_ns ? board->last_ns : now_ns;
    board->requested_w = limit_w;
    board->settle_ns = from_ns + (int64_t)(board->settle_s * SECOND_NS);
    if (!by_rival && board->rival_w > 0) board->rival_ns = from_ns + (int64_t)(board->rival_s * SECOND_NS);
    settle(state, board, from_ns);
}

/* What a driver forgets when it is unloaded. */
void twin_reload(const twin_state *state, twin_board *board) {
    twin_advance(state, board);
    board->requested_w = board->enforced_w = board->default_w;
    board->settle_ns = board->rival_ns = 0;
    board->locked_mhz = 0;
    board->energy_j = board->module_j = board->shown_j = 0;
    board->power_cap_s = board->sw_thermal_s = board->hw_thermal_s = board->brake_s = 0;
    board->persistence = 0;
}
