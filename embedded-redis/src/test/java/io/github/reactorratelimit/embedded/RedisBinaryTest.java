package io.github.reactorratelimit.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RedisBinaryTest {

    @TempDir
    Path directory;

    private Path executable(String name) throws IOException {
        Path file = Files.createFile(directory.resolve(name));
        assertThat(file.toFile().setExecutable(true)).isTrue();
        return file;
    }

    @Test
    void theBinaryThatTheUserNamesIsTaken() throws IOException {
        Path mine = executable("my-redis");

        assertThat(RedisBinary.find(directory, mine.toString(), "Linux", "amd64", ""))
                .isEqualTo(mine);
    }

    @Test
    void aNamedBinaryThatIsNoneIsRefusedAndNotPassedOver() {
        assertThatThrownBy(() -> RedisBinary.find(directory, "/nowhere/redis", "Linux", "amd64", ""))
                .isInstanceOf(NoRedisException.class)
                .hasMessage("-Dredis.server=/nowhere/redis is not an executable file");
    }

    @Test
    void thereIsABinaryForTheUsualPlatforms() throws IOException {
        for (String os : new String[] {"Linux", "Mac OS X"}) {
            for (String arch : new String[] {"amd64", "x86_64", "aarch64"}) {
                Path unpacked = RedisBinary.find(directory, null, os, arch, "");

                assertThat(unpacked).isExecutable();
                Files.delete(unpacked);
            }
        }
    }

    @Test
    void elsewhereThePathIsSearched() throws IOException {
        Path onPath = executable("redis-server");

        assertThat(RedisBinary.find(directory, " ", "FreeBSD", "amd64", "/nowhere" + File.pathSeparator + directory))
                .isEqualTo(onPath);
    }

    @Test
    void whereThereIsNoneTheMessageSaysWhatToDo() {
        assertThatThrownBy(() -> RedisBinary.find(directory, null, "Windows 11", "amd64", "/nowhere"))
                .isInstanceOf(NoRedisException.class)
                .hasMessageStartingWith("There is no embedded Redis for Windows 11 on amd64")
                .hasMessageContaining("-Dredis.server=<path>");
    }
}
