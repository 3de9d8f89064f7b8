#!/bin/sh
# Holds the device layer against a real NVIDIA GPU and prints the table of docs/hardware.md; takes under 6 minutes.
# Needs root (limits are set and given back), a driver, and a Python with nvidia-ml-py and a PyTorch built for CUDA.
set -eu
cd "$(dirname "$0")/../.."
PYTHON=${PYTHON:-python3}
if ! "$PYTHON" -c 'import pynvml, torch, sys; sys.exit(not torch.cuda.is_available())'; then
    echo "tests/gpu/run.sh: $PYTHON has no pynvml, or no PyTorch that sees a GPU; name another: PYTHON=... $0" >&2
    exit 2
fi
exec timeout 350 "$PYTHON" -m tests.gpu.check --device cuda "$@"
