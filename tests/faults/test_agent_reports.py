"""Public reports that an agent of this kind has to be immune to, one test each, named by repository and number.

Where the report itself could be read its title stands in the test; the others are held to the class of fault that they
are collected under: control without rights, and processes that multiply what one should do.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from tests.agents import A, B, PlainGpu, agent_here, agent_on, config_file, grant, place, until
from tests.nvml_twin import TwinUnavailable, nvml_twin
from trainer_hooks.agent.config import read_config
from trainer_hooks.agent_client import AgentClient, AgentGpu
from trainer_hooks.errors import AgentError
from trainer_hooks.limits import LimitSet
from trainer_hooks.wire import call


@pytest.fixture
def spot():
    with place() as folder:
        yield folder


@pytest.fixture
def twin(spot):
    try:
        with nvml_twin(spot, "h100") as twin:
            yield twin
    except TwinUnavailable as missing:
        pytest.skip(str(missing))


def client_of(agent, **given):
    return AgentClient(agent._config.socket, **given)


def forked(act):
    """Do something in a forked child; returns whether it held."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os._exit(0 if act() else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_mlco2_codecarbon_444_a_process_without_rights_controls_through_the_agent_and_is_told_what_it_lacks(spot, twin):
    uuid = twin[0].uuid
    code = (
        "import sys; from trainer_hooks.devices import machine_gpus; from trainer_hooks.gpu import NvmlSession;"
        "from trainer_hooks.agent_client import *; gpu, = machine_gpus(NvmlSession());"
        "direct = gpu.set_power_limit_w(300.0);"
        "leased = AgentGpu(gpu, AgentClient(sys.argv[1])).set_power_limit_w(300.0);"
        "print(direct.outcome, leased.outcome, gpu.power_limit_w())"
    )
    environment = {**os.environ, **twin.environment(root=False), "PYTHONPATH": str(Path.cwd())}
    with agent_on(spot, twin, grant(uuid)) as agent:
        words = [sys.executable, "-c", code, str(agent.socket)]
        told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
    assert told == "denied applied 300.0\n"


def test_geopm_1629_nvml_io_group_does_not_handle_save_restore_due_to_root_privilege_requirements(spot):
    """Saving and restoring are the privileged side's: a user without rights has them all the same."""
    board = PlainGpu(A, 450.0)
    with agent_here(spot, [board], grant()) as agent:
        client = client_of(agent, ttl_s=0.3)
        limits = LimitSet([AgentGpu(board, client)])
        limits.set(300.0)
        assert board.limit_w == 300.0
        limits.set(None)
        assert board.limit_w == 450.0
        limits.set(300.0)
        client._stop.set()  # as if the user's process had died
        until(lambda: board.limit_w == 450.0)


def test_datura_ai_lium_io_pr_1229_a_cap_that_was_there_before_is_not_raised_to_the_default(spot):
    """Their net raises any GPU below 90 % of its default; an operator's own cap is nobody's to raise."""
    capped = PlainGpu(A, 250.0, range_w=(100.0, 700.0))
    with agent_here(spot, [capped], grant()) as agent:
        client = client_of(agent)
        assert client.limit(A, 700.0).limit_w == 250.0
        assert client.limit(A, 200.0).limit_w == 200.0
        client.release(A)
        assert capped.limit_w == 250.0
        capped.limit_w = 220.0
        client.limit(A, 210.0)
        capped.limit_w = 600.0  # and one that someone raised meanwhile is not lowered
        client.close()
    assert capped.limit_w == 600.0
    assert max(capped.sets) == 250.0


def test_ml_energy_zeus_pr_189_the_socket_is_not_open_to_all_users(spot):
    """Update email address and Zeusd instructions in SECURITY.md: mode 666, any user sets any limit."""
    with agent_here(spot, [PlainGpu(A)], grant(uid=os.getuid() + 1)) as agent:
        assert stat.S_IMODE(agent._config.socket.lstat().st_mode) == 0o660
        with pytest.raises(AgentError, match="has no grant for it in this job"):
            call(agent._config.socket, {"op": "lease", "gpus": [A], "limit_w": 300.0, "ttl_s": 5.0}, 5.0)
    with pytest.raises(AgentError, match="there is no such key"):
        read_config(config_file(spot, agent="socket_mode = 666"))


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_ml_energy_zeus_pr_257_files_that_say_what_is_allowed_are_root_s_alone_to_write(spot, mode):
    """[Zeusd] GPU command override: the file of commands was taken whoever could write it."""
    path = config_file(spot, grant())
    read_config(path)
    path.chmod(mode)
    with pytest.raises(AgentError, match="others may write it"):
        read_config(path)
    grants = spot / "grants.d"
    grants.mkdir()
    (grants / "job.ini").write_text(grant(A))
    (grants / "job.ini").chmod(mode)
    path.chmod(0o644)
    with agent_here(spot, [PlainGpu(A)], agent=f"grants_dir = {grants}") as agent:
        assert client_of(agent).limit(A, 300.0).outcome == "denied"


def test_geopm_pr_3083_processes_that_a_training_starts_hold_and_end_nothing_of_its(spot):
    boards = [PlainGpu(A, 650.0), PlainGpu(B, 650.0)]
    with agent_here(spot, boards, grant()) as agent:
        limits = LimitSet([AgentGpu(board, client_of(agent)) for board in boards])
        limits.set(300.0)

        def loader_worker():
            limits.set(None)  # as an exit hook that every forked worker inherits
            return limits.agent_gone == ""

        assert all(forked(loader_worker) for _ in range(3))
        assert [board.limit_w for board in boards] == [300.0, 300.0]
        assert sum(agent.book.state_of(gpu)["claims"] for gpu in (A, B)) == 2
        limits.set(None)
    assert [board.limit_w for board in boards] == [650.0, 650.0]


def test_ml_energy_zeus_pr_205_nothing_here_starts_a_process_that_runs_the_main_module_again(tmp_path, spot):
    """[Docs] Add Troubleshooting section w/ multiprocessing pitfall: helpers by `spawn` run the script once more."""
    script = tmp_path / "train.py"
    script.write_text(
        "import os, sys\n"
        "with open(sys.argv[1], 'a') as seen: seen.write('run\\n')\n"
        "from trainer_hooks.agent_client import AgentClient\n"
        "client = AgentClient(sys.argv[2], ttl_s=0.3)\n"
        "assert client.limit(sys.argv[3], 300.0).applied\n"
        "client.beat()\n"
        "assert 'multiprocessing' not in sys.modules and 'subprocess' not in sys.modules\n"
        "print(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read().split())\n"
    )
    with agent_here(spot, [PlainGpu(A)], grant()) as agent:
        words = [sys.executable, str(script), str(tmp_path / "seen"), str(agent._config.socket), A]
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        told = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=20).stdout
    assert (tmp_path / "seen").read_text() == "run\n"
    assert told == "[]\n"


def test_ml_energy_zeus_43_ranks_that_share_a_board_do_not_undo_each_other(spot):
    board = PlainGpu(A, 650.0)
    with agent_here(spot, [board], grant()) as agent:
        ranks = [client_of(agent, ttl_s=30.0) for _ in range(4)]
        for rank in ranks:
            assert rank.limit(A, 300.0).applied
        for rank in ranks[:-1]:
            rank.close()
            assert board.limit_w == 300.0, "the last one still wants it"
        assert agent.book.boards[A].prior_w == 650.0, "and none took another's limit for the one it had found"
        ranks[-1].close()
    assert board.limit_w == 650.0


def test_ml_energy_zeus_after_sigkill_no_cap_is_left_in_place(spot, twin):
    """Their optimiser restores the maximum, and after SIGKILL nothing; ours restores what was there, in either case."""
    twin[0].limit_w = 600.0
    with agent_on(spot, twin, grant()) as agent:
        client = AgentClient(agent.socket, ttl_s=0.3)
        assert client.limit(twin[0].uuid, 300.0).applied
        client._stop.set()
        agent.end(signal.SIGKILL)
        agent.start()
        until(lambda: twin[0].limit_w == 600.0)
