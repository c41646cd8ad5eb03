"""A table in the hands of Apache Hudi's write client, which plans and does what no data source can be asked for.

Runs inside Apache Hudi's environment: in the oracle's worker and in the generator of the golden tables.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Options = Mapping[str, str] | None

# The release whose interfaces are the usual ones here; older ones lack a few.
NEWEST = "1.2.0"
# A query that no table passes: the files are written, then the commit is refused.
UNPASSABLE = {
    "hoodie.precommit.validators": "org.apache.hudi.client.validator.SqlQuerySingleResultPreCommitValidator",
    "hoodie.precommit.validators.single.value.sql.queries": "select count(*) from <TABLE_NAME>#-1",
}


class Services:
    """One table, on one release. `options` are those of all its writes; `hoodie.table.name` is among them."""

    def __init__(self, spark: Any, release: str, path: str | Path, options: dict[str, str]) -> None:
        self.spark, self.release, self.path, self.options = spark, release, path, options

    def meta_client(self) -> Any:
        jvm = self.spark._jvm
        conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConf(self.spark._jsc.hadoopConfiguration())
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(conf).setBasePath(str(self.path)).build()

    def client(self, options: Options = None) -> contextlib.AbstractContextManager[Any]:
        """A write client with the table's options and these."""
        jvm = self.spark._jvm
        chosen = jvm.java.util.Properties()
        for key, value in {**self.options, **(options or {})}.items():
            chosen.setProperty(key, value)
        builder = jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath(str(self.path))
        config = (
            builder.forTable(self.options["hoodie.table.name"]).withProps(chosen).withSchema(self._schema()).build()
        )
        context = jvm.org.apache.hudi.client.common.HoodieSparkEngineContext(self.spark._jsc)
        return contextlib.closing(jvm.org.apache.hudi.client.SparkRDDWriteClient(context, config))

    def _schema(self) -> str:
        resolver = self.spark._jvm.org.apache.hudi.common.table.TableSchemaResolver(self.meta_client())
        schema = resolver.getTableSchema(False) if self.release == NEWEST else resolver.getTableAvroSchema(False)
        return schema.toString()

    @property
    def none(self) -> Any:
        """Java's empty option."""
        return self.spark._jvm.org.apache.hudi.common.util.Option.empty()

    def plan(self, service: str, options: Options = None) -> str | None:
        """Plans a service (COMPACT, LOG_COMPACT, CLUSTER, CLEAN) without doing it; its instant, if there is work."""
        kind = self.spark._jvm.org.apache.hudi.common.model.TableServiceType.valueOf(service)
        with self.client(options) as client:
            planned = client.scheduleTableService(self.none, kind)
        return planned.get() if planned.isPresent() else None

    def schedule(self, service: str, options: Options = None) -> str:
        """The same, where there must be work."""
        planned = self.plan(service, options)
        if planned is None:
            raise AssertionError(f"there is nothing to {service}")
        return planned

    def run(self, service: str, instant: str, options: Options = None) -> None:
        """Does what was planned."""
        with self.client(options) as client:
            {
                "COMPACT": lambda: client.compact(instant, *self._complete),
                "LOG_COMPACT": lambda: client.logCompact(instant, *self._complete),
                "CLUSTER": lambda: client.cluster(instant, True),
                "CLEAN": lambda: client.clean(instant),
            }[service]()

    @property
    def _complete(self) -> tuple[bool, ...]:
        return (True,) if self.release == NEWEST else ()

    def clean(self, options: Options = None) -> None:
        with self.client(options) as client:
            client.clean()

    def archive(self, options: Options = None) -> None:
        with self.client(options) as client:
            client.archive()

    def rollback(self, instant: str) -> None:
        """Takes a write back: one that is under way, or the last that completed."""
        with self.client() as client:
            client.rollback(instant)

    def savepoint(self, instant: str) -> None:
        with self.client() as client:
            client.savepoint(instant, "tests", "kept for the tests")

    def restore(self, instant: str) -> None:
        with self.client() as client:
            client.restoreToSavepoint(instant)
