"""Many captures, runs and campaigns in one place: Parquet on a disk or any URL that fsspec knows.

What has no manifest does not exist; docs/store.md has the layout. :mod:`~trustbed.store.files`
publishes and removes, :mod:`~trustbed.store.entry` is what a manifest holds,
:mod:`~trustbed.store.store` the store and its views, :mod:`~trustbed.store.captures` analyses a
capture into it, :mod:`~trustbed.store.cluster` thousands on several machines, and
:mod:`~trustbed.store.questions` answers what people ask of it.
"""
