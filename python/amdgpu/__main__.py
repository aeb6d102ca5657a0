"""`python -m amdgpu`, the same as the command `amdgpu`."""

from amdgpu.cli.main import main

raise SystemExit(main())
