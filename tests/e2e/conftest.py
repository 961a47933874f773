"""The shops' tests are other projects': test_example_shop runs them as those projects would."""

collect_ignore = ["naive", "node_shop", "shop", "explored"]
