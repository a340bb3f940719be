package io.github.reactorratelimit.examples.replay;

import java.io.BufferedInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongConsumer;
import java.util.zip.GZIPInputStream;

/** A log on disk, plain or compressed by gzip, which its first two bytes tell. */
final class LogFile {

    private static final int GZIP_MAGIC = 0x1f8b;
    private static final int BUFFER_BYTES = 1 << 16;

    private LogFile() {}

    /** Opens it; {@code bytesRead} is told how many bytes of the file were read so far. */
    static Reader open(Path file, LongConsumer bytesRead) throws IOException {
        InputStream counted =
                new BufferedInputStream(new Counting(Files.newInputStream(file), bytesRead), BUFFER_BYTES);
        counted.mark(2);
        int magic = counted.read() << 8 | counted.read();
        counted.reset();
        InputStream plain = magic == GZIP_MAGIC ? new GZIPInputStream(counted, BUFFER_BYTES) : counted;
        return new InputStreamReader(plain, StandardCharsets.UTF_8);
    }

    private static final class Counting extends FilterInputStream {

        private final LongConsumer bytesRead;
        private long total;

        Counting(InputStream in, LongConsumer bytesRead) {
            super(in);
            this.bytesRead = bytesRead;
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
            int read = super.read(into, offset, length);
            total += Math.max(0, read);
            bytesRead.accept(total);
            return read;
        }
    }
}
