"""All benchmarks, one after the other."""

import sys

from benchmarks import injector_cost

sys.exit(injector_cost.main())
