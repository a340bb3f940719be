package io.github.reactorratelimit.redis;

import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.CommandOutput;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The reply of a call: an array of integers and strings, without an object for each integer. */
final class CallOutput extends CommandOutput<String, String, long[]> {

    private static final long[] NONE = {};

    private @Nullable String[] texts = {};
    private int filled;
    private boolean isMalformed;

    CallOutput() {
        super(StringCodec.UTF8, NONE);
    }

    /** How many values there are; 0 if it is none of our replies. */
    int size() {
        return isMalformed || filled != output.length ? 0 : filled;
    }

    /** A string; null if it is an integer. */
    @Nullable
    String text(int index) {
        return texts[index];
    }

    long integer(int index) {
        return output[index];
    }

    @Override
    public void multi(int count) {
        if (output.length > 0 || count < 0) {
            isMalformed = true;
        } else {
            output = new long[count];
            texts = new String[count];
        }
    }

    @Override
    public void set(long integer) {
        if (filled < output.length) {
            output[filled++] = integer;
        } else {
            isMalformed = true;
        }
    }

    @Override
    public void set(@Nullable ByteBuffer bytes) {
        if (bytes != null && filled < output.length) {
            texts[filled++] = StandardCharsets.UTF_8.decode(bytes).toString();
        } else {
            isMalformed = true;
        }
    }
}
