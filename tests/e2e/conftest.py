"""The shop's tests are another project's: test_example_shop runs them as that project would."""

collect_ignore = ["shop"]
