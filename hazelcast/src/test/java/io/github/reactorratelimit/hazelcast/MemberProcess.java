package io.github.reactorratelimit.hazelcast;

import com.hazelcast.core.HazelcastInstance;
import io.github.reactorratelimit.Decision;
import io.github.reactorratelimit.RateLimitPolicy;
import io.github.reactorratelimit.RateLimiter;
import io.github.reactorratelimit.SlidingWindowLog;
import io.github.reactorratelimit.testing.Await;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A member in a JVM of its own: it reads a key per line, asks its limiter for a permit and prints the answer. */
final class MemberProcess implements AutoCloseable {

    /** Whatever else is printed is somebody's log. */
    private static final String ANSWER = "> ";

    private static final Duration DEADLINE = Duration.ofSeconds(20);

    private final Process process;
    private final PrintWriter requests;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    private MemberProcess(Process process) {
        this.process = process;
        this.requests = new PrintWriter(process.outputWriter(StandardCharsets.UTF_8), true);
        Thread reader = new Thread(this::readAnswers, "answers of " + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    static MemberProcess start(String cluster, int port, int limit) {
        try {
            return new MemberProcess(new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xmx192m",
                            "-XX:+UseSerialGC",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                            MemberProcess.class.getName(),
                            cluster,
                            Integer.toString(port),
                            Integer.toString(limit))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start());
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private void readAnswers() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            lines.lines()
                    .filter(line -> line.startsWith(ANSWER))
                    .map(line -> line.substring(ANSWER.length()))
                    .forEach(answers::add);
        } catch (IOException | UncheckedIOException killed) {
            // What was printed before has been read.
        }
    }

    /** Requests a permit and returns before it is answered. */
    void request(String key) {
        requests.println(key);
    }

    /** The next answer; fails if none comes. */
    String answer() throws InterruptedException {
        String answer = answers.poll(Await.LONG.toSeconds(), TimeUnit.SECONDS);
        if (answer == null) {
            throw new AssertionError("no answer of member " + process.pid());
        }
        return answer;
    }

    /** The answers so far that were not taken. */
    BlockingQueue<String> answers() {
        return answers;
    }

    /** Ends it at once, as {@code kill -9} does. */
    void kill() {
        process.destroyForcibly().onExit().join();
    }

    @Override
    public void close() {
        kill();
    }

    public static void main(String[] arguments) throws IOException {
        HazelcastInstance member = Members.start(arguments[0], Integer.parseInt(arguments[1]));
        Await.until("two members", () -> member.getCluster().getMembers().size() == 2);
        RateLimitPolicy policy = SlidingWindowLog.of(Integer.parseInt(arguments[2]), Duration.ofHours(1));
        RateLimiter limiter = RateLimiter.builder(policy)
                .name("calls")
                .store(HazelcastEngine.store(member, "limits").withDeadline(DEADLINE))
                .build();
        print("ready");
        try (BufferedReader keys = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String key = keys.readLine(); key != null; key = keys.readLine()) {
                limiter.tryAcquire(key)
                        .map(MemberProcess::text)
                        .onErrorReturn("failed")
                        .subscribe(MemberProcess::print);
            }
        }
        member.getLifecycleService().terminate();
    }

    private static String text(Decision decision) {
        return decision.allowed() ? "allowed" : "denied";
    }

    private static synchronized void print(String line) {
        System.out.println(ANSWER + line);
    }

    static List<MemberProcess> startTwo(String cluster, int port, int limit) throws InterruptedException {
        List<MemberProcess> members = List.of(start(cluster, port, limit), start(cluster, port, limit));
        for (MemberProcess member : members) {
            if (!member.answer().equals("ready")) {
                throw new AssertionError("member did not start");
            }
        }
        return members;
    }
}
