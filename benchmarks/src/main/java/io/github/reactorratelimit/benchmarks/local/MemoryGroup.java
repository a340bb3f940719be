package io.github.reactorratelimit.benchmarks.local;

import io.github.reactorratelimit.benchmarks.BenchmarkGroup;
import io.github.reactorratelimit.benchmarks.Form;
import io.github.reactorratelimit.benchmarks.report.Better;
import io.github.reactorratelimit.benchmarks.report.Contender;
import io.github.reactorratelimit.benchmarks.report.Goal;
import io.github.reactorratelimit.benchmarks.report.Group;
import io.github.reactorratelimit.benchmarks.report.Sample;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a key costs in memory, for each policy and each peer. */
final class MemoryGroup implements BenchmarkGroup {

    private static final int MILLION = 1_000_000;
    /** In a JVM that others used before, what they leave to be collected must not outweigh the keys. */
    private static final int KEYS_OF_TINY = 200_000;

    private static final double MOST_BYTES = 45;

    private final Group group = new Group(
            "memory",
            "Memory per key at 10^6 keys, key strings excluded",
            "bytes",
            Better.LESS,
            contenders(),
            List.of(Goal.value(MemoryStates.TOKEN_BUCKET, MOST_BYTES), Goal.value(MemoryStates.GCRA, MOST_BYTES)),
            "Heap in use after a collection, with the keys' states less without, in a JVM of its own. Each key took one"
                    + " permit, and none may be forgotten. The bound of the store is 1/16 above the number of keys. A log"
                    + " grows with the permits in its window.");

    private static List<Contender> contenders() {
        List<Contender> all = new ArrayList<>();
        MemoryStates.ours().forEach(name -> all.add(Contender.ours(name)));
        all.add(Contender.floor(Names.CLOCK_CAS + Names.IN_A_MAP));
        for (String peer : List.of(Names.GUAVA, Names.BUCKET4J, Names.RESILIENCE4J)) {
            all.add(Contender.peer(peer + Names.IN_A_MAP));
        }
        return all;
    }

    @Override
    public Group group() {
        return group;
    }

    @Override
    public int rounds(Form form) {
        return form == Form.FULL ? 3 : 1;
    }

    @Override
    public Sample round(Contender contender, Form form) throws IOException, InterruptedException {
        if (form == Form.TINY) {
            return Sample.of(MemoryProbe.bytesPerKey(contender.name(), KEYS_OF_TINY));
        }
        return Sample.of(inFork(contender));
    }

    /** Exact: nothing dead is left behind, and no thread's buffer, which would count in full, lies between. */
    private static double inFork(Contender contender) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:+UseSerialGC",
                        "-XX:MarkSweepAlwaysCompactCount=1",
                        "-XX:-UseTLAB",
                        "-Xms2g",
                        "-Xmx2g",
                        "-cp",
                        System.getProperty("java.class.path"),
                        MemoryProbe.class.getName(),
                        contender.name(),
                        Integer.toString(MILLION))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        int exit = process.waitFor();
        if (exit != 0) {
            throw new IOException("measuring " + contender.name() + " ended with exit code " + exit);
        }
        return Double.parseDouble(output.strip());
    }

    @Override
    public double expectedSeconds(Form form) {
        return 4;
    }
}
