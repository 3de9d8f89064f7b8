"""A site file of two pools and two runs, with gaps for what a test is about, and the head of any such file."""

HEAD = """
[site]
name = "hall"
timezone = "Etc/UTC"
latitude = 50.0
longitude = 8.0
zone = "demo-central"
currency = "EUR"
[prices]
carbon_per_t = 80
lateness_per_gpu_h = 2
"""
SITE = (
    HEAD
    + """\
[[block]]
name = "north"
capacity_kw = 800
cooling = { kind = "dry_cooler", rated_it_kw = 700 }
[[pool]]
name = "a"
block = "north"
gpu = "H100-SXM"
count = 400
[[pool]]
name = "b"
block = "north"
gpu = "H100-SXM"
count = 200
[[run]]
name = "proto"
gpus = 64
tokens_per_gpu_s = 900
stages = [
  { name = "search", tokens = 1e9, deadline = 2024-05-14T00:00:00 },
  { name = "verify", tokens = 1e9, deadline = 2024-05-15T00:00:00 },
]
PROTO
[[run]]
name = "full"
gpus = 256
tokens_per_gpu_s = 900
stages = [
  { name = "train", tokens = 1e10, deadline = 2024-05-19T00:00:00 },
  STAGES
]
FULL
"""
)
