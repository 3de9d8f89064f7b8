"""How the ranks of one job pause at the same step, without a collective in each step.

Rank -> hub of its node (Unix socket) -> hub of rank 0's node (TCP, authenticated). The hub of rank 0's node decides:

    idle     nothing is asked
    ask      every rank says at its next step boundary how many steps it has done
    prepare  a step S ahead of all of them is named; each rank promises not to go past it
    commit   all have promised: each stops when it has done S steps
    save     all have stopped: each writes its checkpoint
    hold     all wait at S
    exit     all end their loops

A promise that cannot be kept, a dead rank or a deadline leads back to `idle`, and another S is tried. Ranks and hubs
send each other whole states with version numbers, never changes: a message that is lost, late, doubled or out of order
does no harm. In a step a rank reads one word of shared memory, which changes when the hub has something to say.
"""
