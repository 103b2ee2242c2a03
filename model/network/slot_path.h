/* How deep a path lets its disks' I/Os go: threads × iodepth on each of `disks`, cut by the slots
 * of the host's queue, of each disk (LUN) and of the adapter that they share. 0: no limit. */
#ifndef IOREEL_MODEL_SLOT_PATH_H
#define IOREEL_MODEL_SLOT_PATH_H

struct slot_path {
    double host_slots;    /* a host-wide limit per disk, such as ESXi's DSNRO */
    double lun_slots;     /* the disk's own queue, such as ESXi's DQLEN or a guest driver's depth */
    double adapter_slots; /* shared by the disks */
    double disks;
};

/* I/Os in flight below all the slots, over all disks. */
double slot_path_depth(const struct slot_path *path, double depth_per_disk);

#endif
