package io.github.reactorratelimit.redis;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Collection;
import java.util.Collections;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The script of all policies that need the same algorithms. Nothing in its text depends on a policy's
 * parameters, so Redis keeps a few scripts, however many policies there are.
 */
final class RedisScript {

    private static final String EVALUATE = "evaluate.lua";

    private static final Map<Set<ScriptAlgorithm>, RedisScript> SCRIPTS = new ConcurrentHashMap<>();
    private static final Map<Set<ScriptAlgorithm>, RedisScript> JOINT_SCRIPTS = new ConcurrentHashMap<>();

    private final String text;
    private final String sha1;
    private final boolean reserves;

    private RedisScript(String text, boolean reserves) {
        this.text = text;
        this.sha1 = sha1Of(text);
        this.reserves = reserves;
    }

    static RedisScript of(Collection<ScriptAlgorithm> algorithms) {
        Set<ScriptAlgorithm> needed = Collections.unmodifiableSet(EnumSet.copyOf(algorithms));
        return SCRIPTS.computeIfAbsent(needed, set -> assemble(set, EVALUATE));
    }

    /** For several keys at once. */
    static RedisScript joint(Collection<ScriptAlgorithm> algorithms) {
        Set<ScriptAlgorithm> needed = Collections.unmodifiableSet(EnumSet.copyOf(algorithms));
        return JOINT_SCRIPTS.computeIfAbsent(needed, set -> assemble(set, "joint.lua"));
    }

    /** Of the leases of a concurrency limit. */
    static RedisScript ofConcurrency() {
        return Concurrency.SCRIPT;
    }

    private static final class Concurrency {
        static final RedisScript SCRIPT = new RedisScript(read("prelude.lua") + '\n' + read("concurrency.lua"), false);
    }

    /** Of takes that need no other. */
    static RedisScript takes() {
        return Takes.SCRIPT;
    }

    private static final class Takes {
        static final RedisScript SCRIPT = new RedisScript(read("takes.lua"), false);
    }

    /** Tells of many keys at once whether slots are still there. Reads a file the first time, so not for a thread of a connection. */
    static RedisScript heldSlots() {
        return HeldSlots.SCRIPT;
    }

    private static final class HeldSlots {
        static final RedisScript SCRIPT = new RedisScript(read("held_slots.lua"), false);
    }

    /** Of the policies of a limiter. Reads files the first time, so not for a thread of a connection. */
    static RedisScript ofPolicies() {
        return Policies.SCRIPT;
    }

    private static final class Policies {
        static final RedisScript SCRIPT = new RedisScript(read("prelude.lua") + '\n' + read("policies.lua"), false);
    }

    /** Tries what the others need. Reads a file the first time, so not for a thread of a connection. */
    static RedisScript selfTest() {
        return SCRIPTS.computeIfAbsent(Set.of(), none -> new RedisScript(read("selftest.lua"), false));
    }

    /** For EVAL, where Redis does not know the {@link #sha1()}. */
    String text() {
        return text;
    }

    /** For EVALSHA. */
    String sha1() {
        return sha1;
    }

    /** Whether a call is given a key for free slots. */
    boolean reserves() {
        return reserves;
    }

    private static RedisScript assemble(Set<ScriptAlgorithm> algorithms, String main) {
        Set<String> files = new LinkedHashSet<>();
        files.add("prelude.lua");
        files.add("notes.lua");
        algorithms.forEach(algorithm -> files.addAll(algorithm.files()));
        files.add("composite.lua");
        files.add("parts.lua");
        files.add(main);
        StringBuilder text = new StringBuilder();
        files.forEach(file -> text.append(read(file)).append('\n'));
        boolean hasShortWay = algorithms.equals(Set.of(ScriptAlgorithm.GCRA)) && main.equals(EVALUATE);
        return new RedisScript(
                hasShortWay ? withShortWay(text) : text.toString(),
                algorithms.stream().anyMatch(ScriptAlgorithm::isMetered));
    }

    private static String withShortWay(CharSequence whole) {
        return read("fast_gcra.lua") + "\nlocal function whole()\n" + whole
                + "\nend\nreturn take_the_short_way() or whole()\n";
    }

    private static String read(String file) {
        try (InputStream in = RedisScript.class.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("resource " + file + " is missing beside " + RedisScript.class);
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
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
