package io.github.reactorratelimit.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A script as it travels: without comments, and named by its SHA-1. There is one for all commands of all
 * policies, and one that the self-test runs.
 */
final class RedisScript {

    /**
     * Files that define the algorithm of their name; each runs only for calls that need it. A file may be followed
     * by one that belongs to it.
     */
    private static final List<List<String>> ALGORITHMS = List.of(
            List.of("level", "reservation"),
            List.of("stepwise_bucket"),
            List.of("fixed_window"),
            List.of("sliding_counter"),
            List.of("sliding_log"),
            List.of("warm_up"),
            List.of("concurrency"),
            List.of("versions"));

    private final String text;
    private final String sha1;

    private RedisScript(String text) {
        this.text = text;
        this.sha1 = sha1Of(text);
    }

    /**
     * Redis builds its functions again for each call. Those of most files lie in one function, which takes what they
     * need from the first files once; otherwise Redis would search for it once for each of them.
     */
    private static final class Commands {
        static final RedisScript SCRIPT = new RedisScript(read("plain")
                + read("prelude")
                + "local function decide_others()\n"
                + ALGORITHMS.stream().map(RedisScript::loader).collect(Collectors.joining())
                + read("commands")
                + read("frame")
                + "end\nreturn decide_others()\n");
    }

    private static final class Tests {
        static final RedisScript SCRIPT = new RedisScript(read("selftest"));
    }

    /** Reads all files now, on this thread: later callers may be on threads that must not block. */
    static void load() {
        ofCommands();
        ofSelfTest();
    }

    /** For all commands. */
    static RedisScript ofCommands() {
        return Commands.SCRIPT;
    }

    /** Tries what the other one needs. */
    static RedisScript ofSelfTest() {
        return Tests.SCRIPT;
    }

    /** For EVAL, where Redis does not know the {@link #sha1()}. */
    String text() {
        return text;
    }

    /** For EVALSHA. */
    String sha1() {
        return sha1;
    }

    private static String loader(List<String> files) {
        return "function loaders." + files.get(0) + "()\n"
                + files.stream().map(RedisScript::read).collect(Collectors.joining()) + "end\n";
    }

    private static String read(String file) {
        try (InputStream in = RedisScript.class.getResourceAsStream(file + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("resource " + file + ".lua is missing beside " + RedisScript.class);
            }
            String text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
            return text.lines()
                    .map(String::strip)
                    .filter(line -> !line.isEmpty() && !line.startsWith("--"))
                    .map(line -> line + "\n")
                    .collect(Collectors.joining());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String sha1Of(String text) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-1");
            return HexFormat.of().formatHex(digest.digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-1", e);
        }
    }
}
