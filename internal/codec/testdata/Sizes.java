import java.io.File;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.Arrays;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/** Compresses each file of a folder as Kafka's Java client would, and prints the sizes. */
public class Sizes {
    public static void main(String[] args) throws Exception {
        File[] files = new File(args[0]).listFiles();
        Arrays.sort(files);
        for (File file : files) {
            byte[] records = Files.readAllBytes(file.toPath());
            for (int level : new int[] {-1, 1, 2, 3, 4, 5, 6, 7, 8, 9})
                print(file, "gzip", level, Compression.gzip().level(level).build(), records);
            print(file, "snappy", 0, Compression.snappy().build(), records);
            for (int level : new int[] {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 17})
                print(file, "lz4", level, Compression.lz4().level(level).build(), records);
            for (int level : new int[] {-131072, -100, -10, -5, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 16, 19, 22})
                print(file, "zstd", level, Compression.zstd().level(level).build(), records);
        }
    }

    static void print(File file, String method, int level, Compression compression, byte[] records) throws Exception {
        ByteBufferOutputStream out = new ByteBufferOutputStream(2 * records.length + 1024);
        try (OutputStream compressed = compression.wrapForOutput(out, (byte) 2)) {
            for (int i = 0; i < records.length; i += 512)
                compressed.write(records, i, Math.min(512, records.length - i));
        }
        System.out.printf("%s\t%s\t%d\t%d%n", file.getName(), method, level, out.position());
    }
}
