package io.cqring.notify;

import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;

/** The name of a Unix-domain socket, checked once at both ends, so that a wrong one is one clear error. */
final class UnixSocket {
    /** What every system takes: Linux has room for 107 bytes, others for a little less. */
    private static final int MOST_BYTES = 100;

    private UnixSocket() {}

    /** The address, if a socket could be there: the name is short enough, its folder exists, and nothing else has the name. */
    static UnixDomainSocketAddress address(Path socket) throws IOException {
        final int bytes = socket.toString().getBytes(StandardCharsets.UTF_8).length;
        if (bytes > MOST_BYTES) {
            throw new IllegalArgumentException(
                    "path of a socket must be of at most " + MOST_BYTES + " bytes: " + bytes + " in " + socket);
        }
        final UnixDomainSocketAddress address = UnixDomainSocketAddress.of(socket);
        final Path folder = socket.toAbsolutePath().getParent();
        if (folder == null || !Files.isDirectory(folder)) {
            throw new NoSuchFileException(socket.toString(), null, "the folder of the socket does not exist");
        }
        if (exists(socket)
                && !Files.readAttributes(socket, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                        .isOther()) {
            throw new FileSystemException(socket.toString(), null, "is a file or a folder, not a socket");
        }
        return address;
    }

    static boolean exists(Path socket) {
        return Files.exists(socket, LinkOption.NOFOLLOW_LINKS);
    }
}
