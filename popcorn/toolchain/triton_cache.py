"""Environment that gives each candidate just-in-time caches of its own: what lies in such a cache is loaded and run."""

from pathlib import Path


def private_caches(folder: Path | str, candidate_hash: str) -> dict[str, str]:
    """Variables to set in the child before it imports anything: triton, inductor and the extension builder write under `folder/<hash>`.

    The same text finds its own kernels again; another text never does.
    """
    if not candidate_hash.isalnum():
        raise ValueError(f"{candidate_hash!r} is not a hash")
    own = Path(folder).resolve() / candidate_hash
    names = {
        "TRITON_CACHE_DIR": "triton",
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "TILELANG_CACHE_DIR": "tilelang",
        "CUTE_DSL_CACHE_DIR": "cute",
        "CUDA_CACHE_PATH": "cuda",
    }
    own.mkdir(parents=True, exist_ok=True)
    own.chmod(0o700)
    for name in names.values():
        if (own / name).is_symlink() or (own / name).is_file():  # the candidate may write here, and may have put anything in its place
            (own / name).unlink()
        (own / name).mkdir(exist_ok=True)
    return {variable: str(own / name) for variable, name in names.items()}
