package io.cqring.jmh;

import io.cqring.memory.AccessRoute;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/** What the commands' options have in common. */
final class Options {
    private Options() {}

    /** A wrong value is one line on stderr and exit code 2. */
    static void require(CommandSpec spec, boolean rule, String message) {
        if (!rule) {
            throw new ParameterException(spec.commandLine(), message);
        }
    }

    /** Insists on a route. Must come before the first queue: a JVM chooses once. */
    static void setRoute(CommandSpec spec, String route) {
        if (route != null) {
            require(
                    spec,
                    route.equals("auto") || route.equals("unsafe") || route.equals("buffer"),
                    "--route must be auto, unsafe or buffer: " + route);
            System.setProperty(AccessRoute.PROPERTY, route);
        }
    }
}
