"""`python -m amdgpu.cli`."""

from amdgpu.cli.main import main

raise SystemExit(main())
