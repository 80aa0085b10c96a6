"""A view of a store: one table of all its entries, read when it is needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from trustbed.store.entry import Entry, manifest_of, renamed
from trustbed.store.errors import StoreError, explained
from trustbed.store.files import Files
from trustbed.store.tables import PARTITIONS, store_schemas

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, repr=False)
class View:
    """One table of all current entries: ``transfers``, for example.

    Attributes:
        name: The table.
        entries: The entries that have it.
    """

    name: str
    entries: Sequence[Entry]
    _files: Files

    @property
    def schema(self) -> pa.Schema:
        """The columns: those of the partitions, then those of the table."""
        return pa.schema([*PARTITIONS, *store_schemas()[self.name]])

    @property
    def rows(self) -> int:
        """How many rows it has, from the manifests."""
        return sum(entry.tables[self.name].rows for entry in self.entries)

    @property
    def paths(self) -> list[str]:
        """The files that it reads, as the file system of the URL names them."""
        return [self._path(entry) for entry in self.entries]

    def _path(self, entry: Entry) -> str:
        return self._files.path(f"{entry.directory}/{self.name}.parquet")

    def table(
        self, columns: Sequence[str] | None = None, *, where: pads.Expression | None = None
    ) -> pa.Table:
        """Its rows as a pyarrow Table: these columns, of rows for which ``where`` holds.

        Raises:
            StoreError: The storage cannot be reached, or a file of it is missing or damaged.
        """
        names = self.schema.names if columns is None else list(columns)
        with explained(self._files.url):
            try:
                parts = [
                    dataset.to_table(columns=names, filter=where)
                    if not former
                    else _filtered(dataset, self.schema.names, former, where).select(names)
                    for dataset, former in self._datasets()
                ]
            except (FileNotFoundError, pa.ArrowInvalid):
                self._check_files()
                raise
        schema = pa.schema([self.schema.field(name) for name in names])
        return pa.concat_tables([part.cast(schema) for part in parts] or [schema.empty_table()])

    def _check_files(self) -> None:
        """Names the first file that is missing or damaged.

        Raises:
            StoreError: There is one.
        """
        for entry in self.entries:
            try:
                pq.read_metadata(self._path(entry), filesystem=self._files.arrow)
            except FileNotFoundError:
                what = "missing"
            except pa.ArrowInvalid:
                what = "damaged"
            else:
                continue
            raise StoreError(
                f"a table of {entry.name} is {what}, {self._path(entry)}",
                f"remove {self._files.path(manifest_of(entry.key))} and repeat the command that "
                "stored it",
            )

    def lazy(self) -> polars.LazyFrame:
        """Its rows as a polars frame that reads what a query needs.

        Raises:
            StoreError: polars is not installed.
        """
        try:
            import polars
        except ImportError as error:
            raise StoreError(
                "polars, which makes lazy frames, is not installed",
                "pip install 'trustbed[polars]'",
            ) from error
        names = self.schema.names
        frames = [
            polars.scan_pyarrow_dataset(dataset)
            .rename({old: new for new, old in former.items()})
            .select(names)
            for dataset, former in self._datasets()
        ]
        if not frames:
            empty = polars.from_arrow(self.schema.empty_table())
            assert isinstance(empty, polars.DataFrame)
            return empty.lazy()
        return polars.concat(frames, how="vertical_relaxed")

    def _datasets(self) -> list[tuple[pads.Dataset, Mapping[str, str]]]:
        """The files of each version of the schema, with the former names of columns."""
        found: list[tuple[pads.Dataset, Mapping[str, str]]] = []
        ordered = sorted(self.entries, key=lambda entry: entry.schema_version)
        for version, group in groupby(ordered, key=lambda entry: entry.schema_version):
            former = renamed(self.name, version)
            names = [former.get(field.name, field.name) for field in self.schema]
            fields = map(pa.Field.with_name, self.schema, names)
            dataset = pads.dataset(
                [self._path(entry) for entry in group],
                schema=pa.schema(list(fields)),
                format="parquet",
                filesystem=self._files.arrow,
                partitioning=pads.partitioning(PARTITIONS, flavor="hive"),
                partition_base_dir=self._files.root,
            )
            found.append((dataset, former))
        return found

    def __repr__(self) -> str:
        return f"<View {self.name}: {self.rows} rows of {len(self.entries)} entries>"


def _filtered(
    dataset: pads.Dataset,
    names: Sequence[str],
    former: Mapping[str, str],
    where: pads.Expression | None,
) -> pa.Table:
    """Rows of an earlier version, chosen by today's names."""
    table = dataset.to_table(columns={name: pads.field(former.get(name, name)) for name in names})
    return table if where is None else table.filter(where)
