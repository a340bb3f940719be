package io.github.reactorratelimit.testing.redis;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.testing.Await;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class WorkspaceTest {

    @Test
    void processesAndFilesGoWhenTheJvmIsKilled() throws Exception {
        Process jvm = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Victim.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader lines =
                new BufferedReader(new InputStreamReader(jvm.getInputStream(), StandardCharsets.UTF_8))) {
            ProcessHandle child =
                    ProcessHandle.of(Long.parseLong(lines.readLine())).orElseThrow();
            Path files = Path.of(lines.readLine());
            assertThat(child.isAlive()).isTrue();
            assertThat(files).exists();

            jvm.destroyForcibly().waitFor();

            Await.until("child ended", () -> !child.isAlive());
            Await.until("files deleted", () -> !files.toFile().exists());
        } finally {
            jvm.destroyForcibly();
        }
    }

    /** A JVM with a child and files of its own. */
    static final class Victim {

        public static void main(String[] args) throws Exception {
            Process child = new ProcessBuilder("sleep", "60").start();
            Workspace.adopt(child);
            System.out.println(child.pid());
            System.out.println(Workspace.newDirectory("victim"));
            Thread.currentThread().join();
        }
    }
}
