/// Gateway: HTTP in, answers out. Rooms: `Server` (libmicrohttpd: connections, bodies, streams), `Routes`
/// (addresses and who may call), `Plan` (a dialect request against the schema becomes an engine plan),
/// `Answer` (outcomes and errors become status, headers and body).
