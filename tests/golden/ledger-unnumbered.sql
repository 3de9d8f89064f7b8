-- What a ledger holds that was made before its steps were numbered.
CREATE TABLE carbon_account (
  number INTEGER NOT NULL,
  calendar_id VARCHAR NOT NULL,
  series VARCHAR NOT NULL,
  factor_set INTEGER NOT NULL,
  zone VARCHAR NOT NULL,
  start DATETIME NOT NULL,
  slot_minutes INTEGER NOT NULL,
  server VARCHAR NOT NULL,
  sources VARCHAR NOT NULL,
  labels VARCHAR NOT NULL,
  stored_kwh DOUBLE NOT NULL,
  gpu_hours DOUBLE NOT NULL,
  sha256 VARCHAR NOT NULL,
  PRIMARY KEY (number),
  UNIQUE (calendar_id, series),
  FOREIGN KEY(calendar_id) REFERENCES "plan" (calendar_id),
  FOREIGN KEY(factor_set) REFERENCES factor_set (number)
);
CREATE TABLE contract (
  account INTEGER NOT NULL,
  position INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  technology VARCHAR NOT NULL,
  factor_gco2_per_kwh DOUBLE NOT NULL,
  basis VARCHAR NOT NULL,
  boundary VARCHAR NOT NULL,
  PRIMARY KEY (account, position),
  FOREIGN KEY(account) REFERENCES carbon_account (number)
);
CREATE TABLE contract_account (
  account INTEGER NOT NULL,
  position INTEGER NOT NULL,
  start_s INTEGER NOT NULL,
  factor_set INTEGER NOT NULL,
  supplied_kwh DOUBLE NOT NULL,
  used_kwh DOUBLE NOT NULL,
  PRIMARY KEY (account, position, start_s)
)
 WITHOUT ROWID;
CREATE TABLE factor_set (
  number INTEGER NOT NULL,
  name VARCHAR NOT NULL,
  version VARCHAR NOT NULL,
  basis VARCHAR NOT NULL,
  content VARCHAR NOT NULL,
  PRIMARY KEY (number),
  UNIQUE (name, version, content)
);
CREATE TABLE "plan" (
  calendar_id VARCHAR NOT NULL,
  site VARCHAR NOT NULL,
  issued_at DATETIME NOT NULL,
  valid_from DATETIME NOT NULL,
  valid_until DATETIME NOT NULL,
  status VARCHAR NOT NULL,
  certified_gap DOUBLE,
  PRIMARY KEY (calendar_id)
);
CREATE TABLE planned_window (
  calendar_id VARCHAR NOT NULL,
  run VARCHAR NOT NULL,
  start DATETIME NOT NULL,
  "end" DATETIME NOT NULL,
  state VARCHAR NOT NULL,
  tokens DOUBLE NOT NULL,
  energy_kwh DOUBLE NOT NULL,
  carbon_kg DOUBLE NOT NULL,
  PRIMARY KEY (calendar_id, run, start),
  FOREIGN KEY(calendar_id) REFERENCES "plan" (calendar_id)
);
CREATE TABLE run_account (
  account INTEGER NOT NULL,
  position INTEGER NOT NULL,
  run VARCHAR NOT NULL,
  factor_set INTEGER NOT NULL,
  it_kwh DOUBLE NOT NULL,
  load_kwh DOUBLE NOT NULL,
  import_kwh DOUBLE NOT NULL,
  onsite_kwh DOUBLE NOT NULL,
  matched_kwh DOUBLE NOT NULL,
  cfe_kwh DOUBLE NOT NULL,
  location_kg DOUBLE NOT NULL,
  market_kg DOUBLE NOT NULL,
  onsite_kg DOUBLE NOT NULL,
  marginal_kg DOUBLE,
  water_l DOUBLE NOT NULL,
  gpu_hours DOUBLE NOT NULL,
  embodied_low_kg DOUBLE NOT NULL,
  embodied_mid_kg DOUBLE NOT NULL,
  embodied_high_kg DOUBLE NOT NULL,
  tokens DOUBLE NOT NULL,
  heat_sold_kwh_th DOUBLE,
  PRIMARY KEY (account, position),
  FOREIGN KEY(account) REFERENCES carbon_account (number)
);
CREATE TABLE site_account (
  account INTEGER NOT NULL,
  start_s INTEGER NOT NULL,
  factor_set INTEGER NOT NULL,
  it_kwh DOUBLE NOT NULL,
  facility_kwh DOUBLE NOT NULL,
  load_kwh DOUBLE NOT NULL,
  import_kwh DOUBLE NOT NULL,
  onsite_kwh DOUBLE NOT NULL,
  matched_kwh DOUBLE NOT NULL,
  cfe_kwh DOUBLE NOT NULL,
  average_gco2_per_kwh DOUBLE NOT NULL,
  residual_gco2_per_kwh DOUBLE NOT NULL,
  marginal_gco2_per_kwh DOUBLE,
  grid_cfe_share DOUBLE NOT NULL,
  location_kg DOUBLE NOT NULL,
  market_kg DOUBLE NOT NULL,
  onsite_kg DOUBLE NOT NULL,
  marginal_kg DOUBLE,
  water_l DOUBLE NOT NULL,
  heat_sold_kwh_th DOUBLE,
  PRIMARY KEY (account, start_s),
  FOREIGN KEY(account) REFERENCES carbon_account (number)
)
 WITHOUT ROWID;
CREATE TABLE slot_carbon (
  calendar_id VARCHAR NOT NULL,
  start DATETIME NOT NULL,
  "end" DATETIME NOT NULL,
  kg_per_it_kwh DOUBLE NOT NULL,
  PRIMARY KEY (calendar_id, start),
  FOREIGN KEY(calendar_id) REFERENCES "plan" (calendar_id)
);
CREATE TABLE telemetry (
  writer VARCHAR NOT NULL,
  sequence INTEGER NOT NULL,
  run VARCHAR NOT NULL,
  calendar_id VARCHAR,
  t_start DATETIME NOT NULL,
  t_end DATETIME NOT NULL,
  state VARCHAR NOT NULL,
  tokens INTEGER NOT NULL,
  useful_tokens INTEGER NOT NULL,
  position_tokens INTEGER NOT NULL,
  energy_j DOUBLE NOT NULL,
  energy_error_j DOUBLE NOT NULL,
  energy_source VARCHAR NOT NULL,
  gpus INTEGER NOT NULL,
  gpu_power_limit_w DOUBLE,
  enforced_limit_w DOUBLE,
  adherence DOUBLE,
  rank INTEGER,
  boards VARCHAR,
  starvation_j DOUBLE,
  hold_j DOUBLE,
  checkpoint_j DOUBLE,
  recompute_j DOUBLE,
  overhead_j DOUBLE,
  host_j DOUBLE,
  host_error_j DOUBLE,
  node_j DOUBLE,
  node_error_j DOUBLE,
  PRIMARY KEY (writer, sequence)
);
CREATE INDEX ix_telemetry_calendar_id ON telemetry (calendar_id);
CREATE INDEX ix_telemetry_run ON telemetry (run);
CREATE VIEW run_account_hour AS
SELECT r.account AS account, r.run AS run, r.start_s - (r.start_s - f.first_s) % 3600 AS start_s,
r.factor_set AS factor_set, sum(r.it_kwh) AS it_kwh, sum(r.load_kwh) AS load_kwh, sum(r.import_kwh) AS import_kwh, sum(r.onsite_kwh) AS onsite_kwh, sum(r.matched_kwh) AS matched_kwh, sum(r.cfe_kwh) AS cfe_kwh, sum(r.location_kg) AS location_kg, sum(r.market_kg) AS market_kg, sum(r.onsite_kg) AS onsite_kg, sum(r.marginal_kg) AS marginal_kg, sum(r.water_l) AS water_l, sum(r.heat_sold_kwh_th) AS heat_sold_kwh_th
FROM run_account_slot r
JOIN (SELECT account, min(start_s) AS first_s FROM site_account GROUP BY account) f ON f.account = r.account
GROUP BY r.account, r.run, 3, r.factor_set;
CREATE VIEW run_account_slot AS
SELECT a.number AS account, w.run AS run, s.start_s AS start_s, s.factor_set AS factor_set, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) AS it_kwh,
w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.load_kwh AS load_kwh, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.import_kwh AS import_kwh, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.onsite_kwh AS onsite_kwh, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.matched_kwh AS matched_kwh, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.cfe_kwh AS cfe_kwh, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.location_kg AS location_kg, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.market_kg AS market_kg, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.onsite_kg AS onsite_kg, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.marginal_kg AS marginal_kg, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.water_l AS water_l, w.energy_kwh * (min((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)), s.start_s + 60.0 * a.slot_minutes) - max((CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)), s.start_s)) / ((CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) - (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL))) / s.it_kwh * s.heat_sold_kwh_th AS heat_sold_kwh_th
FROM carbon_account a
JOIN planned_window w ON w.calendar_id = a.calendar_id AND w.energy_kwh > 0
JOIN site_account s ON s.account = a.number
AND s.start_s > (CAST(strftime('%s', substr(w."start", 1, 19)) AS INTEGER) + CAST('0' || substr(w."start", 20) AS REAL)) - 60.0 * a.slot_minutes AND s.start_s < (CAST(strftime('%s', substr(w."end", 1, 19)) AS INTEGER) + CAST('0' || substr(w."end", 20) AS REAL)) AND s.it_kwh > 0;
