import Gateway

enum HelpText {
  static let text = """
    kizuna-gateway \(Version.text): a local-first REST gateway in the PostgREST dialect

    usage: kizuna-gateway [COMMAND] [OPTIONS]

    commands
      serve           serve until SIGTERM or SIGINT (the default)
      check           validate the configuration and print what it resolved to
      sql             print the server half, to be run in the upstream's database
      health          ask a running gateway whether it is ready: exit 0 ready, 1 not
      backup DEST     write a consistent copy of the database, also while it is served
      reset --yes     wipe local rows and sync state, while no process serves the database

    options
      --config FILE         configuration (else $KIZUNA_CONFIG, else ./kizuna.json, else the built-in demo)
      --listen ADDR         localhost:54321, [::1]:54321 or unix:PATH; may be repeated
      --database PATH       the SQLite file, or :memory:
      --offline             never contact the upstream
      --log-level LEVEL     error, warn, info or debug
      --log-format FORMAT   text or json
      --url URL             health: the gateway to ask
      --help, --version

    environment (beats the file, is beaten by options)
      KIZUNA_CONFIG KIZUNA_LISTEN KIZUNA_DATABASE KIZUNA_API_KEY KIZUNA_REMOTE_URL KIZUNA_PUBLISHABLE_KEY
      KIZUNA_ACCESS_TOKEN KIZUNA_ACCESS_TOKEN_FILE KIZUNA_LOG_LEVEL

    first steps
      kizuna-gateway &                            serves a demo, the tables lists and todos
      curl http://localhost:54321/rest/v1/todos   reads one; http://localhost:54321/ lists every address

    exit codes
      0 fine, 1 not ready (health), 64 usage, 69 address or database in use, 74 input/output, 78 configuration

    """
}
