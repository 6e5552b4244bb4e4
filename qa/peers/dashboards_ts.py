"""Writes the dashboards as TypeScript objects of the types of @grafana/schema: dashboards_ts.py FOLDER > boards.ts"""
import json
import sys
from pathlib import Path

# Option types by panel type: file and folder below raw/composable.
PANELS = {
    "timeseries": "TimeSeries",
    "heatmap": "Heatmap",
    "table": "Table",
    "state-timeline": "StateTimeline",
    "bargauge": "BarGauge",
}

print("import type { Dashboard, Panel, RowPanel } from '@grafana/schema';")
for kind, name in PANELS.items():
    path = f"@grafana/schema/dist/esm/raw/composable/{name.lower()}/panelcfg/x/{name}PanelCfg_types.gen"
    print(f"import type {{ Options as {name} }} from '{path}';")
# JSON has the values of enumerations as plain texts.
print("""
type Plain<T> = T extends string ? `${T}` : T extends Array<infer U> ? Array<Plain<U>>
  : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
type Board = Omit<Plain<Dashboard>, 'panels'> & { panels: Array<Plain<Omit<Panel, 'options' | 'targets'>> & { options: object; targets: object[] } | Plain<RowPanel>> };
""")
for n, path in enumerate(sorted(Path(sys.argv[1]).rglob("*.json"))):
    board = json.loads(path.read_text(encoding="utf-8"))
    print(f"export const board{n}: Board = {json.dumps(board)};")
    for m, panel in enumerate(board["panels"]):
        if panel["type"] in PANELS:
            print(f"export const options{n}_{m}: Partial<Plain<{PANELS[panel['type']]}>> = {json.dumps(panel['options'])};")
