/// kizuna-gateway: the executable. Arguments become a configuration, a configuration an open engine and a server;
/// signals end them; every failure is one line on standard error and an exit code of sysexits.h.
import Glibc

exit(Program.run(Array(CommandLine.arguments.dropFirst())).rawValue)
