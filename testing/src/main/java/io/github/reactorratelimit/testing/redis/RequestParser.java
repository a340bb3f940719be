package io.github.reactorratelimit.testing.redis;

import io.netty.buffer.ByteBuf;
import java.util.Locale;
import java.util.function.Consumer;

/** Finds the commands in what a client sends, in pieces of any size: arrays of bulk strings, as every client sends them. */
final class RequestParser {

    private static final int LINE_END_BYTES = 2;

    private final Consumer<String> onCommand;
    private final StringBuilder line = new StringBuilder();
    private final StringBuilder name = new StringBuilder();
    private int argumentsLeft;
    private int payloadLeft;
    private boolean inName;

    /** @param onCommand is given the name of each command, in capitals, when its last byte has arrived */
    RequestParser(Consumer<String> onCommand) {
        this.onCommand = onCommand;
    }

    /** Reads the bytes without consuming them. */
    void read(ByteBuf bytes) {
        bytes.forEachByte(value -> {
            accept((char) (value & 0xff));
            return true;
        });
    }

    private void accept(char value) {
        if (payloadLeft > 0) {
            payload(value);
        } else if (value == '\n') {
            header(line.toString().trim());
            line.setLength(0);
        } else {
            line.append(value);
        }
    }

    private void payload(char value) {
        payloadLeft--;
        if (inName && payloadLeft >= LINE_END_BYTES) {
            name.append(value);
        }
        if (payloadLeft == 0) {
            inName = false;
            argumentsLeft--;
            if (argumentsLeft == 0) {
                onCommand.accept(name.toString().toUpperCase(Locale.ROOT));
            }
        }
    }

    private void header(String header) {
        int size = Integer.parseInt(header.substring(1));
        switch (header.charAt(0)) {
            case '*' -> {
                argumentsLeft = size;
                inName = true;
                name.setLength(0);
            }
            case '$' -> payloadLeft = size + LINE_END_BYTES;
            default -> throw new IllegalStateException("not a request: " + header);
        }
    }
}
